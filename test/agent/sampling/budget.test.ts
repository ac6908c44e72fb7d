import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { budgetStretch, stretchedSeconds } from "../../../agent/sampling/budget.ts";

interface Part {
  readonly cost: number;
  readonly wanted: number;
}

function planned(parts: readonly Part[], longest: number): (stretch: number) => number {
  return (stretch) =>
    parts.reduce((sum, { cost, wanted }) => sum + cost / stretchedSeconds(wanted, stretch, cost, longest), 0);
}

describe("budgetStretch", () => {
  it("leaves everything alone within the budget", () => {
    expect(budgetStretch(planned([{ cost: 1, wanted: 10 }], 60), 0.2)).toBe(0);
  });

  it("stretches by the square root of cost and interval: a signal four times as costly, or as slow, twice as long", () => {
    const parts = [
      { cost: 1, wanted: 1 },
      { cost: 4, wanted: 1 },
      { cost: 1, wanted: 4 },
    ];
    const stretch = budgetStretch(planned(parts, 1e9), 0.1);
    const [base = 0, ...rest] = parts.map(({ cost, wanted }) => stretchedSeconds(wanted, stretch, cost, 1e9));
    expect(rest.map((seconds) => seconds / base)).toEqual([expect.closeTo(2, 9), expect.closeTo(2, 9)]);
    // Found to half a percent, on the side that meets the budget.
    expect(planned(parts, 1e9)(stretch)).toBeLessThanOrEqual(0.1);
    expect(planned(parts, 1e9)(stretch)).toBeGreaterThan(0.099);
  });

  it("reads at the longest intervals when even these cost more", () => {
    expect(budgetStretch(planned([{ cost: 100, wanted: 1 }], 60), 1)).toBe(Infinity);
    expect(stretchedSeconds(1, Infinity, 100, 60)).toBe(60);
  });

  it("meets every budget that can be met, and never shortens an interval", () => {
    const part = fc.record({
      cost: fc.double({ min: 1e-6, max: 1e-2, noNaN: true }),
      wanted: fc.double({ min: 1, max: 60, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1 }),
        fc.double({ min: 1e-6, max: 0.1, noNaN: true }),
        fc.oneof(fc.constantFrom(0, Infinity), fc.double({ min: 1e-9, max: 1e9, noNaN: true })),
        (parts, budget, likely) => {
          const cost = planned(parts, 60);
          const stretch = budgetStretch(cost, budget, likely);
          const isMet = cost(stretch) <= budget;
          expect(isMet).toBe(stretch !== Infinity || cost(Infinity) <= budget);
          for (const each of parts) {
            expect(stretchedSeconds(each.wanted, stretch, each.cost, 60)).toBeGreaterThanOrEqual(each.wanted);
          }
        },
      ),
    );
  });
});
