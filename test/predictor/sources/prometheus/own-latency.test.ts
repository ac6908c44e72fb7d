import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownLatency } from "@tradewind/predictor/sources/prometheus/own-latency.ts";

const response = { count: 100, meanSeconds: 0.1, p50Seconds: 0.08, p95Seconds: 0.2, p99Seconds: 0.4 };

describe("ownLatency", () => {
  it("is the response latency of a service that calls no other", () => {
    expect(ownLatency(response, 10, [])).toEqual({ latency: response, calls: "sequential" });
  });

  it("takes off calls per request times their mean, and keeps the shape", () => {
    // Two calls of 20 ms to one, half a call of 40 ms to another: 60 ms of waiting.
    const own = ownLatency(response, 10, [
      { callsPerSecond: 20, meanSeconds: 0.02 },
      { callsPerSecond: 5, meanSeconds: 0.04 },
    ]);
    expect(own?.calls).toBe("sequential");
    expect(own?.latency.meanSeconds).toBeCloseTo(0.04, 12);
    expect(own?.latency.p95Seconds).toBeCloseTo(0.08, 12);
  });

  it("takes the longest off when the calls cannot have followed each other", () => {
    const call = { callsPerSecond: 10, meanSeconds: 0.07 };
    const own = ownLatency(response, 10, [call, call]);
    expect(own?.calls).toBe("parallel");
    expect(own?.latency.meanSeconds).toBeCloseTo(0.03, 12);
  });

  it("is unknown when a single call takes longer than the response, or there are no requests", () => {
    expect(ownLatency(response, 10, [{ callsPerSecond: 10, meanSeconds: 0.2 }])).toBeUndefined();
    expect(ownLatency(response, 0, [])).toBeUndefined();
  });

  it("is never negative and never above the response", () => {
    const call = fc.record({
      callsPerSecond: fc.double({ min: 0, max: 1e4, noNaN: true }),
      meanSeconds: fc.double({ min: 0, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 8 }), (calls) => {
        const own = ownLatency(response, 10, calls)?.latency.p95Seconds ?? 0;
        expect(own).toBeGreaterThanOrEqual(0);
        expect(own).toBeLessThanOrEqual(response.p95Seconds);
      }),
    );
  });
});
