import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatencySketch, SKETCH_RELATIVE_ERROR } from "../../../predictor/window/latency-sketch.ts";

function sketchOf(durationsNs: readonly number[]): LatencySketch {
  const sketch = new LatencySketch();
  for (const duration of durationsNs) sketch.add(duration);
  return sketch;
}

function nearestRank(durationsNs: readonly number[], quantile: number): number {
  const sorted = [...durationsNs].sort((a, b) => a - b);
  return sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1] ?? NaN;
}

describe("latency sketch", () => {
  it("says nothing when nothing was measured", () => {
    expect(new LatencySketch().summary()).toBeUndefined();
  });

  it("gives one duration back as it was", () => {
    expect(sketchOf([12_345_678]).summary()).toEqual({
      count: 1,
      meanSeconds: 0.012345678,
      p50Seconds: 0.012345678,
      p95Seconds: 0.012345678,
      p99Seconds: 0.012345678,
    });
  });

  it("finds the percentiles of 1 to 1,000 ms", () => {
    const summary = sketchOf(Array.from({ length: 1_000 }, (_, index) => (index + 1) * 1e6)).summary();
    expect(summary?.meanSeconds).toBeCloseTo(0.5005, 9);
    expect(Math.abs((summary?.p50Seconds ?? NaN) / 0.5 - 1)).toBeLessThanOrEqual(SKETCH_RELATIVE_ERROR);
    expect(Math.abs((summary?.p95Seconds ?? NaN) / 0.95 - 1)).toBeLessThanOrEqual(SKETCH_RELATIVE_ERROR);
    expect(Math.abs((summary?.p99Seconds ?? NaN) / 0.99 - 1)).toBeLessThanOrEqual(SKETCH_RELATIVE_ERROR);
  });

  it("is within its error of the true quantile for any durations in any order", () => {
    const durations = fc.array(fc.oneof(fc.nat(1e6), fc.nat(2 ** 31 - 1), fc.maxSafeNat()), { minLength: 1 });
    fc.assert(
      fc.property(durations, fc.double({ min: 0, max: 1, noNaN: true }), (values, quantile) => {
        const truth = nearestRank(values, quantile);
        const found = sketchOf(values).quantileNs(quantile);
        expect(Math.abs(found - truth)).toBeLessThanOrEqual(truth * SKETCH_RELATIVE_ERROR * (1 + 1e-9));
      }),
    );
  });
});

describe("the share of durations over one", () => {
  it("is 0 of nothing, of the longest and of more, and 1 of less than the shortest", () => {
    expect(new LatencySketch().shareOver(5)).toBe(0);
    const sketch = sketchOf([0, 1e6, 2e6, 3e6]);
    expect([3e6, 4e6, -1].map((ns) => sketch.shareOver(ns))).toEqual([0, 0, 1]);
    expect(sketch.shareOver(1.5e6)).toBe(0.5);
    expect(sketch.shareOver(0.5)).toBe(0.75);
  });

  it("lies between the shares that are over by 2 % more and by 2 % less, for any durations", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1e10 }), { minLength: 1 }),
        fc.integer({ min: 1, max: 1e10 }),
        (durations, limit) => {
          const share = (least: number): number =>
            durations.filter((duration) => duration > least).length / durations.length;
          const found = sketchOf(durations).shareOver(limit);
          expect(found).toBeGreaterThanOrEqual(share(limit * 1.02));
          expect(found).toBeLessThanOrEqual(share(limit * 0.98));
        },
      ),
    );
  });
});
