import { Least } from "@tradewind/predictor/decide/cost/solve/least.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** The plain way: the first of the least values below the bound that are allowed. */
function plainly(values: readonly number[], bound: number, isAllowed: (place: number) => boolean): number {
  let best = -1;
  let least = bound;
  for (const [place, value] of values.entries()) {
    if (!(value < least) || !isAllowed(place)) continue;
    best = place;
    least = value;
  }
  return best;
}

describe("the least of many numbers", () => {
  it("is after any changes the one that a walk over all of them finds, the first of equal ones", () => {
    const value = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(Infinity, -0, Number.NaN));
    const step = fc.record({
      changes: fc.array(fc.tuple(fc.nat(299), value), { maxLength: 40 }),
      bound: fc.constantFrom(Infinity, 0, 2),
      forbidden: fc.integer({ min: 1, max: 5 }),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.array(step, { maxLength: 8 }), (count, steps) => {
        const least = new Least(count);
        const values = Array.from({ length: count }, () => Infinity);
        for (const { bound, changes, forbidden } of steps) {
          for (const [place, number] of changes) {
            least.set(place % count, number);
            values[place % count] = number;
          }
          const isAllowed = (place: number): boolean => place % forbidden !== 1;
          expect(least.find(bound, isAllowed)).toBe(plainly(values, bound, isAllowed));
          expect(least.find(bound, () => true)).toBe(plainly(values, bound, () => true));
        }
      }),
    );
  });
});
