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

  it("takes nearly all of the CPU for all of it where the requests before would have needed more", () => {
    // 20 requests a second of 60 ms need 1.2 cores; 0.93 were used.
    const dear = { ...before, cpuSecondsPerRequest: 0.06 };
    expect(presentState(dear, window(0.93)).cpuSecondsPerRequest).toBe(0.06);
    // Those of 40 ms need 0.8.
    const cheap = { ...before, cpuSecondsPerRequest: 0.04 };
    expect(presentState(cheap, window(0.93)).cpuSecondsPerRequest).toBeCloseTo(0.0465, 4);
  });
});

describe("presentState under interference", () => {
  const inflation = { reference: [0.1, 0, 0, 0], linear: [1, 0, 0, 0], quadratic: [0, 0, 0, 0] };
  const none = { supported: false };
  const disturbed = (used: number, cpu: number): Window => {
    const { containers, ...rest } = window(used);
    const interference = {
      cpu: { supported: true, value: cpu },
      memoryCapacity: none,
      memoryBandwidth: none,
      network: none,
    };
    return { ...rest, containers: containers.map((container) => ({ ...container, interference })) };
  };
  const dear = { ...before, cpuSecondsPerRequest: 0.06 };

  it("adds what interference is known to add where containers used all of their CPU", () => {
    const cost = (cpu: number): number =>
      presentState(dear, disturbed(0.99, cpu), inflation).cpuSecondsPerRequest;
    expect(cost(0.1)).toBeCloseTo(0.06, 9);
    expect(cost(0.6)).toBeCloseTo(0.06 * Math.exp(0.5), 9);
    expect(presentState(dear, disturbed(0.99, 0.6)).cpuSecondsPerRequest).toBe(0.06);
  });

  it("believes the utilisation law more where it can tell", () => {
    expect(presentState(dear, disturbed(0.8, 0.6), inflation).cpuSecondsPerRequest).toBeCloseTo(0.04, 4);
  });
});
