import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPlanner } from "@tradewind/predictor/run/planners.ts";

const names = fc.uniqueArray(fc.uuid(), { minLength: 1, maxLength: 8 });
const application = fc.string({ minLength: 3 });

const plannersOf = (key: string, all: readonly string[], count: number): string[] =>
  all.filter((self) =>
    isPlanner(
      key,
      self,
      all.filter((other) => other !== self),
      count,
    ),
  );

describe("who plans an application", () => {
  it("is as many predictors as asked for, or all where there are fewer, and the same whatever their order", () => {
    fc.assert(
      fc.property(application, names, fc.integer({ min: 2, max: 8 }), (key, all, count) => {
        const planners = plannersOf(key, all, count);
        expect(planners).toHaveLength(Math.min(count, all.length));
        expect(plannersOf(key, [...all].reverse(), count).reverse()).toEqual(planners);
      }),
    );
  });

  it("keeps its predictors when one that does not plan it dies, and all but the dead one when a planner dies", () => {
    fc.assert(
      fc.property(application, names, fc.integer({ min: 2, max: 8 }), (key, all, count) => {
        const [dead, ...alive] = all;
        const before = plannersOf(key, all, count).filter((name) => name !== dead);
        expect(plannersOf(key, alive, count)).toEqual(expect.arrayContaining(before));
      }),
    );
  });

  it("is rather one too many than none where some are not seen", () => {
    fc.assert(
      fc.property(application, names, fc.nat(), (key, all, seed) => {
        const planning = all.filter((self, index) => {
          const seen = all.filter((other, at) => other !== self && (seed >> ((index + at) % 16)) % 2 === 0);
          return isPlanner(key, self, seen, 2);
        });
        expect(planning.length).toBeGreaterThanOrEqual(Math.min(2, all.length));
      }),
    );
  });

  it("spreads many applications evenly", () => {
    const all = ["a", "b", "c", "d"];
    const counts = all.map(
      (self) =>
        Array.from({ length: 1_000 }, (_, index) => `shop/${index}`).filter((key) =>
          isPlanner(
            key,
            self,
            all.filter((other) => other !== self),
            2,
          ),
        ).length,
    );
    // 1,000 applications by two planners each over four predictors: 500 each, standard deviation below 16.
    for (const count of counts) expect(Math.abs(count - 500)).toBeLessThan(80);
  });
});
