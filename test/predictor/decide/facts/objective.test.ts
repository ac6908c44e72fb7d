import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flowObjective, flowTailSeconds, shareOver } from "@tradewind/predictor/decide/facts/objective.ts";

const LATENCY = { count: 100, meanSeconds: 0.1, p50Seconds: 0.06, p95Seconds: 0.3, p99Seconds: 0.5 };

describe("a flow's objective", () => {
  it("comes with the mean of an exponential distribution that just meets the tail", () => {
    const { meanSeconds, tailSeconds } = flowObjective({
      percentile: 0.95,
      milliseconds: 300,
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

describe("the share of requests over a latency", () => {
  it.each([
    [0.06, 0.5],
    [0.3, 0.05],
    [0.5, 0.01],
  ])("is what the measured percentile at %s s says", (seconds, share) => {
    expect(shareOver(LATENCY, seconds)).toBeCloseTo(share, 12);
  });

  it("is 0 beyond the p99 of a latency that hardly varies, and 1 at no latency", () => {
    const constant = { count: 9, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds: 0.1, p99Seconds: 0.1 };
    expect([shareOver(constant, 0.2), shareOver(constant, 0.1), shareOver(LATENCY, 0)]).toEqual([0, 0, 1]);
  });

  it("is the inverse of the latency at a percentile, and never grows with the latency", () => {
    const gap = fc.double({ min: 1e-3, max: 10, noNaN: true });
    const share = fc.double({ min: 0.001, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(gap, gap, gap, share, (p50Seconds, second, third, percentile) => {
        const p95Seconds = p50Seconds + second;
        const latency = { count: 9, meanSeconds: 1, p50Seconds, p95Seconds, p99Seconds: p95Seconds + third };
        const seconds = flowTailSeconds(latency, percentile);
        expect(shareOver(latency, seconds)).toBeCloseTo(1 - percentile, 6);
        expect(shareOver(latency, seconds * 1.1)).toBeLessThanOrEqual(shareOver(latency, seconds));
      }),
    );
  });
});
