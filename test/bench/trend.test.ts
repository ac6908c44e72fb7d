import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { describe, expect, it } from "vitest";
import { theilSen, trendOf } from "../../bench/trend.ts";

const at = (values: readonly number[]): { atSeconds: number; value: number }[] =>
  values.map((value, atSeconds) => ({ atSeconds, value }));

describe("Theil and Sen's slope", () => {
  it("is exact on a line, without error", () => {
    expect(theilSen(at([1, 3, 5, 7]))).toEqual({ slope: 2, standardError: 0 });
  });

  it("is the median of the slopes of all pairs: of 0, 1, 1, 10 these are 0, 0.5, 1, 3.33, 4.5 and 9", () => {
    expect(theilSen(at([0, 1, 1, 10])).slope).toBeCloseTo((1 + 10 / 3) / 2);
  });

  it("is not moved by a quarter of wild points", () => {
    const values = Array.from({ length: 24 }, (_, i) => (i % 4 === 1 ? 1e6 : 2 * i));
    expect(theilSen(at(values)).slope).toBeCloseTo(2);
  });

  it("is within one standard error of the truth in two thirds of noisy runs", () => {
    const rng = seededRng(1);
    const runs = 600;
    let within = 0;
    for (let run = 0; run < runs; run += 1) {
      const { slope, standardError } = theilSen(
        at(Array.from({ length: 24 }, (_, i) => 0.3 * i + standardNormal(rng))),
      );
      if (Math.abs(slope - 0.3) <= standardError) within += 1;
    }
    expect(within / runs).toBeGreaterThan(0.62);
    expect(within / runs).toBeLessThan(0.74);
  });

  it("is unknown with fewer than three points", () => {
    expect(theilSen(at([1, 2]))).toEqual({ slope: Number.NaN, standardError: Number.NaN });
  });
});

describe("a trend", () => {
  it("is that of the floor after the first third: what is given back and what fills at first do not count", () => {
    const samples = Array.from({ length: 3_000 }, (_, i) => ({
      atSeconds: i,
      value: Math.min(i, 900) + (i % 50) * 10 + 0.01 * i,
    }));
    const trend = trendOf(samples);
    expect(trend.slopePerHour).toBeCloseTo(36, 0);
    expect(trend).toMatchObject({ first: 0, last: 900 + 490 + 29.99, most: 900 + 490 + 29.99 });
  });

  it("says nothing of no samples", () => {
    expect(trendOf([]).first).toBeNaN();
  });
});
