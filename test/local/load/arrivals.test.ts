import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { arrivals } from "@tradewind/local/load/arrivals.ts";
import type { Arrival } from "@tradewind/local/load/arrivals.ts";

const FLOWS = [
  { route: "GET /a", share: 3 },
  { route: "GET /b", share: 1 },
];

function until(seconds: number, trace: readonly number[], durationSeconds: number, seed = 1): Arrival[] {
  const found: Arrival[] = [];
  for (const arrival of arrivals(trace, durationSeconds, FLOWS, seededRng(seed))) {
    if (arrival.atSeconds >= seconds) break;
    found.push(arrival);
  }
  return found;
}
const between = (all: readonly Arrival[], from: number, to: number): number =>
  all.filter(({ atSeconds }) => atSeconds >= from && atSeconds < to).length;

describe("arrivals", () => {
  it("repeat for the same seed and differ for another", () => {
    expect(until(20, [5], 10)).toEqual(until(20, [5], 10));
    expect(until(20, [5], 10, 2)).not.toEqual(until(20, [5], 10));
  });

  it("follow the trace: each part has its rate, within five standard errors", () => {
    // Two parts of 500 s each, the trace repeated once.
    const all = until(2_000, [4, 40], 1_000);
    for (const start of [0, 1_000]) {
      expect(Math.abs(between(all, start, start + 500) - 2_000)).toBeLessThan(5 * Math.sqrt(2_000));
      expect(Math.abs(between(all, start + 500, start + 1_000) - 20_000)).toBeLessThan(5 * Math.sqrt(20_000));
    }
  });

  it("are Poisson: the count of a second has its mean as its variance", () => {
    const all = until(4_000, [9], 100);
    const counts = Array.from({ length: 4_000 }, () => 0);
    for (const { atSeconds } of all) counts[Math.floor(atSeconds)]! += 1;
    const mean = all.length / 4_000;
    const variance = counts.reduce((sum, count) => sum + (count - mean) ** 2, 0) / 3_999;
    expect(variance / mean).toBeGreaterThan(0.85);
    expect(variance / mean).toBeLessThan(1.15);
  });

  it("send nothing in a part of rate 0", () => {
    const all = until(30, [10, 0, 10], 30);
    expect(between(all, 0, 10)).toBeGreaterThan(0);
    expect(between(all, 10, 20)).toBe(0);
    expect(between(all, 20, 30)).toBeGreaterThan(0);
  });

  it("mix the flows by their shares", () => {
    const all = until(1_000, [40], 1_000);
    const share = all.filter(({ route }) => route === "GET /a").length / all.length;
    expect(share).toBeCloseTo(0.75, 1);
  });

  it("come in order of time, with a number of their own", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 1, maxLength: 8 }),
        fc.integer(),
        (rates, seed) => {
          const all = until(20, [...rates, 5], 10, seed);
          for (let index = 1; index < all.length; index += 1) {
            expect(all[index]!.atSeconds).toBeGreaterThanOrEqual(all[index - 1]!.atSeconds);
          }
          for (const { demandSeed } of all) expect(Number.isInteger(demandSeed) && demandSeed > 0).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });
});
