import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shareProportionally } from "@tradewind/predictor/decide/queue/share.ts";
import type { Claim } from "@tradewind/predictor/decide/queue/share.ts";

const free = (name: string, weight: number): Claim => ({ name, weight, min: 0, max: 1_000 });
const sum = (shares: ReadonlyMap<string, number>): number => [...shares.values()].reduce((a, b) => a + b, 0);

describe("proportional share", () => {
  it("gives floor(weight / sum · total) and the left-over pods to the largest remainders", () => {
    // Quotas of 10 pods: a 5.5, b 2.75, c 1.75; floors 5, 2, 1; two pods left for b and c (.75), none for a (.5).
    const shares = shareProportionally([free("a", 2), free("b", 1), free("c", 7 / 11)], 10);
    expect(Object.fromEntries(shares)).toEqual({ a: 5, b: 3, c: 2 });
  });

  it("breaks ties by name", () => {
    const shares = shareProportionally([free("b", 1), free("c", 1), free("a", 1)], 4);
    expect(Object.fromEntries(shares)).toEqual({ a: 2, b: 1, c: 1 });
  });

  it("shares equally when all weights are 0, as before the first measurement", () => {
    expect(Object.fromEntries(shareProportionally([free("a", 0), free("b", 0)], 6))).toEqual({ a: 3, b: 3 });
  });

  it("fills what a maximum leaves over into the others", () => {
    const claims = [{ ...free("a", 9), max: 4 }, free("b", 1), free("c", 1)];
    expect(Object.fromEntries(shareProportionally(claims, 10))).toEqual({ a: 4, b: 3, c: 3 });
  });

  it("takes what a minimum needs from the others in proportion", () => {
    // a is held at 3; 7 pods over b : c = 6 : 1.
    const claims = [{ ...free("a", 1), min: 3 }, free("b", 12), free("c", 2)];
    expect(Object.fromEntries(shareProportionally(claims, 10))).toEqual({ a: 3, b: 6, c: 1 });
  });

  it("gives every claim its minimum when the pods are too few, its maximum when they are too many", () => {
    const claims = [
      { name: "a", weight: 1, min: 2, max: 3 },
      { name: "b", weight: 5, min: 2, max: 4 },
    ];
    expect(Object.fromEntries(shareProportionally(claims, 3))).toEqual({ a: 2, b: 2 });
    expect(Object.fromEntries(shareProportionally(claims, 9))).toEqual({ a: 3, b: 4 });
  });

  const claimsOf = fc.uniqueArray(
    fc.record({
      name: fc.string({ minLength: 1, maxLength: 4 }),
      weight: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1e6, noNaN: true })),
      min: fc.integer({ min: 0, max: 5 }),
      room: fc.integer({ min: 0, max: 40 }),
    }),
    { selector: ({ name }) => name, minLength: 1, maxLength: 12 },
  );
  const claimList = claimsOf.map((list) =>
    list.map(({ room, ...claim }) => ({ ...claim, max: claim.min + room })),
  );
  const total = fc.integer({ min: 0, max: 200 });

  it("uses exactly the total whenever the bounds allow it, and holds every bound", () => {
    fc.assert(
      fc.property(claimList, total, (claims, pods) => {
        const shares = shareProportionally(claims, pods);
        const least = claims.reduce((a, { min }) => a + min, 0);
        const most = claims.reduce((a, { max }) => a + max, 0);
        expect(sum(shares)).toBe(Math.min(Math.max(pods, least), most));
        for (const { name, min, max } of claims) {
          expect(shares.get(name)).toBeGreaterThanOrEqual(min);
          expect(shares.get(name)).toBeLessThanOrEqual(max);
        }
      }),
    );
  });

  it("does not depend on the order of the claims", () => {
    fc.assert(
      fc.property(claimList, total, (claims, pods) => {
        const turned = shareProportionally([...claims].reverse(), pods);
        for (const [name, share] of shareProportionally(claims, pods)) expect(turned.get(name)).toBe(share);
      }),
    );
  });

  it("never gives a service less for a longer queue", () => {
    fc.assert(
      fc.property(
        claimList,
        total,
        fc.double({ min: 1.01, max: 100, noNaN: true }),
        (claims, pods, factor) => {
          const first = claims[0]!;
          const heavier = [{ ...first, weight: first.weight * factor + 1 }, ...claims.slice(1)];
          const before = shareProportionally(claims, pods).get(first.name)!;
          expect(shareProportionally(heavier, pods).get(first.name)).toBeGreaterThanOrEqual(before);
        },
      ),
    );
  });

  it("is within one pod of the exact quota where no bound is active", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { minLength: 1, maxLength: 20 }),
        total,
        (weights, pods) => {
          const shares = shareProportionally(
            weights.map((weight, index) => free(`s${index}`, weight)),
            pods,
          );
          const all = weights.reduce((a, b) => a + b, 0);
          for (const [index, weight] of weights.entries()) {
            expect(Math.abs((shares.get(`s${index}`) ?? 0) - (weight / all) * pods)).toBeLessThan(1 + 1e-6);
          }
        },
      ),
    );
  });
});
