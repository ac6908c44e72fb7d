import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";

describe("a histogram of latencies", () => {
  it("knows nothing before the first request", () => {
    expect(new LatencyHistogram().quantileSeconds(0.95)).toBe(0);
  });

  it("is within 0.5 % of the exact percentile", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 2e-4, max: 10, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (latencies, quantile) => {
          const histogram = new LatencyHistogram();
          for (const seconds of latencies) histogram.add(1e3 * seconds);
          const sorted = [...latencies].sort((a, b) => a - b);
          const exact = sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1]!;
          const estimate = histogram.quantileSeconds(quantile);
          expect(histogram.count).toBe(latencies.length);
          expect(Math.abs(estimate / exact - 1)).toBeLessThan(0.0051);
        },
      ),
    );
  });

  it("counts what lies outside its range at its edge", () => {
    const histogram = new LatencyHistogram();
    histogram.add(0);
    histogram.add(1e9);
    expect(histogram.quantileSeconds(0.5)).toBeCloseTo(1e-6, 7);
    expect(histogram.quantileSeconds(1)).toBeGreaterThan(990);
  });
});
