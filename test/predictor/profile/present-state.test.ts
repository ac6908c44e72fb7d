import type { Window } from "@tradewind/core/contract/window.ts";
import { presentState } from "@tradewind/predictor/profile/present-state.ts";
import { describe, expect, it } from "vitest";

const before = { cpuSecondsPerRequest: 0.005, baseSeconds: 0.02 };

/** 40 requests a second to two containers of one core, of which each uses `used`. */
function window(used: number | undefined, count = 100_000): Window {
  return {
    namespace: "default",
    service: "cart",
    startMs: 0,
    endMs: 15_000,
    replicasReady: 2,
    requestsPerSecond: 40,
    ownLatency: { count, meanSeconds: 0.02, p50Seconds: 0.02, p95Seconds: 0.05, p99Seconds: 0.08 },
    callees: [],
    containers: ["a", "b"].map((id) => ({
      id,
      cpuLimitCores: 1,
      ...(used !== undefined && { cpuUsageCores: used }),
    })),
  };
}

const seconds = (used: number | undefined, count?: number): number =>
  presentState(before, window(used, count)).cpuSecondsPerRequest;

describe("presentState", () => {
  it("takes what a request costs now from the utilisation law", () => {
    // 0.2 cores for 20 requests a second each: 10 ms.
    expect(seconds(0.2)).toBeCloseTo(0.01, 4);
    expect(seconds(0.05)).toBeCloseTo(0.0025, 4);
  });

  it("trusts a window half when it holds twenty calls", () => {
    expect(seconds(0.2, 20)).toBeCloseTo(0.005 * Math.SQRT2, 9);
  });

  it("only raises the estimate where containers used all of their CPU", () => {
    expect(seconds(0.98)).toBeGreaterThan(0.01);
    const cheap = { ...before, cpuSecondsPerRequest: 0.08 };
    expect(presentState(cheap, window(0.98)).cpuSecondsPerRequest).toBe(0.08);
  });

  it("believes no more than a factor of four either way", () => {
    expect(seconds(0.9)).toBeCloseTo(0.02, 4);
    expect(seconds(1e-9)).toBeCloseTo(0.00125, 4);
  });

  it("leaves the state as it was where CPU was not measured, or not used", () => {
    expect(presentState(before, window(undefined))).toEqual(before);
    expect(presentState(before, window(0))).toEqual(before);
  });
});
