import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { withThrottledWaits } from "@tradewind/predictor/decide/facts/arrival-wait.ts";
import { describe, expect, it } from "vitest";
import { window } from "../../measurements.ts";

const throttled = (
  service: string,
  cpuThrottledRatio: number,
  overrides: Partial<ContainerWindow> = {},
): Window => ({
  ...window({ service, replicas: 1, rate: 60, ownSeconds: 0.001 }),
  containers: [
    {
      id: service,
      podName: service,
      cpuLimitCores: 0.08,
      cpuUsageCores: 0.05,
      cpuThrottledRatio,
      ...overrides,
    },
  ],
});

/** The frontend calls the backend once a request, and waits 30 ms before its handler runs. */
function backendAfter(
  caller: number,
  callee: number,
  overrides?: Partial<ContainerWindow>,
): Window["ownLatency"] {
  const calls = [{ callee: "backend", callsPerSecond: 60, parallelRatio: 0, transitSeconds: 0.03 }];
  const windows = [
    { ...throttled("frontend", caller), callees: calls },
    throttled("backend", callee, overrides),
  ];
  return withThrottledWaits(windows, 0.05)[1]?.ownLatency;
}

const measured = throttled("backend", 0).ownLatency!;

describe("the wait before a handler runs", () => {
  it("is the self time of a callee that is throttled, its percentiles those of an exponential wait", () => {
    const later = backendAfter(0, 0.4)!;
    expect(later.meanSeconds - measured.meanSeconds).toBeCloseTo(0.03, 9);
    expect(later.p50Seconds - measured.p50Seconds).toBeCloseTo(0.03 * Math.log(2), 9);
    expect(later.p95Seconds - measured.p95Seconds).toBeCloseTo(0.03 * Math.log(20), 9);
    expect(later.p99Seconds - measured.p99Seconds).toBeCloseTo(0.03 * Math.log(100), 9);
  });

  it("is shared with a caller that is throttled, by how much either is", () => {
    expect(backendAfter(0.3, 0.1)!.meanSeconds - measured.meanSeconds).toBeCloseTo(0.03 / 4, 9);
  });

  it("stays outside of a callee that is throttled less than requests may be late", () => {
    expect(backendAfter(0, 0.04)).toEqual(measured);
  });

  it("is the callee's where its container is full, whether or not throttling was measured", () => {
    const full = backendAfter(0, 0, { cpuUsageCores: 0.079 })!;
    expect(full.meanSeconds - measured.meanSeconds).toBeCloseTo(0.03, 9);
  });
});
