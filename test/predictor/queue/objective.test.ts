import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flowObjective, flowTailSeconds } from "@tradewind/predictor/queue/objective.ts";

const LATENCY = { count: 100, meanSeconds: 0.1, p50Seconds: 0.06, p95Seconds: 0.3, p99Seconds: 0.5 };

describe("a flow's objective", () => {
  it("comes with the mean of an exponential distribution that just meets the tail", () => {
    const { meanSeconds, tailSeconds } = flowObjective({
      percentile: 0.95,
      milliseconds: 300,
      windowSeconds: 60,
    });
    expect(tailSeconds).toBe(0.3);
    expect(meanSeconds).toBeCloseTo(0.3 / Math.log(20), 12);
  });
});

describe("latency at a percentile", () => {
  it.each([
    [0.5, 0.06],
    [0.95, 0.3],
    [0.99, 0.5],
  ])("is what was measured at %s", (percentile, seconds) => {
    expect(flowTailSeconds(LATENCY, percentile)).toBeCloseTo(seconds, 12);
  });

  it("is exact for an exponential distribution, between and beyond the measured percentiles", () => {
    const at = (percentile: number): number => -0.1 * Math.log(1 - percentile);
    const exponential = {
      count: 9,
      meanSeconds: 0.1,
      p50Seconds: at(0.5),
      p95Seconds: at(0.95),
      p99Seconds: at(0.99),
    };
    for (const percentile of [0.2, 0.8, 0.9, 0.97, 0.999]) {
      expect(flowTailSeconds(exponential, percentile)).toBeCloseTo(at(percentile), 9);
    }
  });

  it("never falls with the percentile", () => {
    const percentile = fc.double({ min: 0.01, max: 0.9999, noNaN: true });
    fc.assert(
      fc.property(percentile, percentile, (one, other) => {
        const [low, high] = one < other ? [one, other] : [other, one];
        expect(flowTailSeconds(LATENCY, high)).toBeGreaterThanOrEqual(flowTailSeconds(LATENCY, low));
      }),
    );
  });
});
