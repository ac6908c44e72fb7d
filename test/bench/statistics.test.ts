import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { describe, expect, it } from "vitest";
import { kendallTau, mixedQuantile, percentile, slope, theilSen, trendOf } from "../../bench/statistics.ts";

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

/** Exponential latencies with this mean. */
const exponential = (count: number, meanSeconds: number) => ({
  count,
  quantileSeconds: (quantile: number) => -Math.log1p(-Math.min(quantile, 1 - 1e-9)) * meanSeconds,
});

describe("mixedQuantile", () => {
  it("is the quantile of one group alone", () => {
    expect(mixedQuantile([exponential(10, 1)], 0.5)).toBeCloseTo(Math.LN2, 2);
  });

  it("lies where the groups together have the share below", () => {
    const both = [exponential(100, 1), exponential(300, 0.1)];
    const at = mixedQuantile(both, 0.95);
    const share = 0.25 * (1 - Math.exp(-at)) + 0.75 * (1 - Math.exp(-at / 0.1));
    expect(share).toBeCloseTo(0.95, 2);
  });

  it("is 0 without requests", () => {
    expect(mixedQuantile([exponential(0, 1)], 0.5)).toBe(0);
  });
});

describe("kendallTau", () => {
  it("tells the same order from the opposite one", () => {
    expect(kendallTau([1, 2, 3, 4], [10, 20, 30, 40])).toBe(1);
    expect(kendallTau([1, 2, 3, 4], [4, 3, 2, 1])).toBe(-1);
  });

  it("counts one pair in another order: (5 - 1) / 6", () => {
    expect(kendallTau([1, 2, 3, 4], [1, 2, 4, 3])).toBeCloseTo(4 / 6, 12);
  });

  it("has no opinion where everything is tied", () => {
    expect(kendallTau([1, 1], [1, 2])).toBe(0);
  });
});

describe("percentile", () => {
  it("is the least value that the share does not exceed", () => {
    expect(percentile([1, 2, 3, 4], 0.5)).toBe(2);
    expect(percentile([1, 2, 3, 4], 0.51)).toBe(3);
    expect(percentile([1, 2, 3, 4], 1)).toBe(4);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

describe("slope", () => {
  it("fits a line by least squares", () => {
    expect(
      slope([
        [0, 1],
        [1, 3],
        [2, 5],
      ]),
    ).toBeCloseTo(2, 12);
  });
});
