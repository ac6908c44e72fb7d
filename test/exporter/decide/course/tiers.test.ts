import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Courses } from "@tradewind/exporter/decide/course/courses.ts";
import { budgetLeftOf } from "@tradewind/exporter/decide/course/points.ts";
import { Tiers } from "@tradewind/exporter/decide/course/tiers.ts";

const LAYOUT = {
  merges: ["last", "max", "mean", "byWeight"],
  weight: 2,
  sizes: [
    { everyMs: 0, mostRows: 4 },
    { everyMs: 100, mostRows: 3 },
  ],
} as const;

describe("rows that get sparser with age", () => {
  it("keeps new rows as they are, and of older ones the highest, the mean and the mean by weight", () => {
    const tiers = new Tiers(LAYOUT);
    tiers.add([100, 1, 10, 0]);
    tiers.add([150, 5, 30, 1]);
    for (const atMs of [210, 220, 230, 240]) tiers.add([atMs, 2, Number.NaN, 0]);
    expect(tiers.rows()).toEqual([
      [150, 5, 20, 0.75],
      ...[210, 220, 230, 240].map((atMs) => [atMs, 2, Number.NaN, 0]),
    ]);
    expect(tiers.rows(225)).toHaveLength(2);
  });

  it("is bounded and in order whatever times come, and never loses the newest row", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 200 }), (times) => {
        const tiers = new Tiers(LAYOUT);
        for (const atMs of times) tiers.add([atMs, atMs, 1, 0]);
        const rows = tiers.rows().map(([atMs = 0]) => atMs);
        expect(rows.length).toBeLessThanOrEqual(4 + 3 + 1);
        expect(rows).toEqual([...new Set(rows)].toSorted((a, b) => a - b));
        expect(rows.at(-1)).toBe(Math.max(...times));
      }),
    );
  });
});

describe("the last day of an application", () => {
  const place = { namespace: "shop", application: "hotel" };
  const endMs = 2 * 86_400_000;
  const day = (overRatio: number): Courses => {
    const courses = new Courses();
    const points = Array.from({ length: 5_760 }, (_, index) => ({
      atMs: endMs - (5_759 - index) * 15_000,
      latencySeconds: index === 3 ? 9 : 0.1,
      objectiveSeconds: 0.2,
      requestsPerSecond: 10,
      overRatio,
    }));
    courses.add(place, points, { deploys: [], services: new Map() });
    return courses;
  };

  it("is there from its first window to its last in under 400 points, with the one window that was slow", () => {
    const { points = [] } = day(0).course(place, {}) ?? {};
    expect(points.length).toBeLessThan(400);
    expect(points.at(-1)!.atMs).toBe(endMs);
    expect(points[0]!.latencySeconds).toBe(9);
    expect(points[0]!.atMs).toBeLessThan(endMs - 86_400_000 + 600_000 + 15_000);
  });

  it.each([
    [0, 1],
    [0.01, 0.8],
    [0.05, 0],
    [0.2, -3],
  ])("with %f of the requests over an objective for 95 %% has %f of its budget left", (over, left) => {
    const budget = budgetLeftOf(day(over).points(place), {
      nowMs: endMs,
      percentile: 0.95,
      periodMs: 86_400_000,
    });
    expect(budget!.budgetLeftRatio).toBeCloseTo(left, 9);
    expect(budget!.budgetSeconds).toBeGreaterThan(80_000);
  });

  it("has no budget to speak of without requests", () => {
    expect(
      budgetLeftOf(new Courses().points(place), { nowMs: endMs, percentile: 0.95, periodMs: 1 }),
    ).toBeUndefined();
  });
});
