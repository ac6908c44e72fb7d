import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createLatencyHistogram } from "@tradewind/local/load/latency-histogram.ts";

describe("createLatencyHistogram", () => {
  it("knows nothing before the first request", () => {
    expect(createLatencyHistogram().quantileSeconds(0.95)).toBeUndefined();
  });

  it("is within 1 % of the exact percentile, never below it by more than rounding", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 2e-4, max: 10, noNaN: true }), { minLength: 1, maxLength: 300 }),
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        (latencies, quantile) => {
          const histogram = createLatencyHistogram();
          for (const seconds of latencies) histogram.record(seconds);
          const sorted = [...latencies].sort((a, b) => a - b);
          const exact = sorted[Math.max(1, Math.ceil(quantile * sorted.length)) - 1]!;
          const estimate = histogram.quantileSeconds(quantile)!;
          expect(histogram.count).toBe(latencies.length);
          expect(estimate / exact).toBeGreaterThan(0.999);
          expect(estimate / exact).toBeLessThan(1.011);
        },
      ),
    );
  });

  it("counts what lies outside its range at its edge", () => {
    const histogram = createLatencyHistogram();
    histogram.record(0);
    histogram.record(1e6);
    expect(histogram.quantileSeconds(0.5)).toBe(1e-4);
    expect(histogram.quantileSeconds(1)).toBeGreaterThan(10);
  });
});
