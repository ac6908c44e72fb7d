import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { containerSize } from "@tradewind/predictor/decide/facts/size.ts";
import { cpuDemand } from "@tradewind/predictor/decide/facts/demand.ts";
import { profileObservation } from "@tradewind/predictor/decide/cost/learn/service-reading.ts";
import { surroundingsOf } from "@tradewind/predictor/models/network/surroundings.ts";
import { describe, expect, it } from "vitest";
import { START_MS, WINDOW_MS } from "../../measurements.ts";

const interference = (cpu: number) => ({
  cpu: { supported: true, value: cpu },
  memoryCapacity: { supported: false },
  memoryBandwidth: { supported: false },
  network: { supported: false },
});

/** Two pods: an application at 96 % of half a core, beside a proxy with a limit of two cores that uses 0.1. */
const WINDOW: Window = {
  namespace: "shop",
  service: "cart",
  startMs: START_MS,
  endMs: START_MS + WINDOW_MS,
  requestsPerSecond: 40,
  replicasReady: 2,
  ownLatency: { count: 600, meanSeconds: 0.02, p50Seconds: 0.02, p95Seconds: 0.05, p99Seconds: 0.08 },
  callees: [],
  containers: [0, 1].flatMap((pod) => [
    {
      id: `app-${pod}`,
      podName: `cart-${pod}`,
      cpuLimitCores: 0.5,
      cpuUsageCores: 0.48,
      cpuThrottledRatio: 0.7,
      memoryLimitBytes: 512e6,
    },
    {
      id: `proxy-${pod}`,
      sidecar: true as const,
      podName: `cart-${pod}`,
      cpuLimitCores: 2,
      cpuUsageCores: 0.1,
      memoryLimitBytes: 1e9,
      interference: interference(0.9),
    },
  ]),
};

describe("a sidecar beside the application", () => {
  it("hides nothing of how full the application is: 96 % of half a core, throttled in 70 % of the periods", () => {
    const demand = cpuDemand(WINDOW, {}, 0.65, 30)!;
    expect(demand).toMatchObject({ podCapacityCores: 0.5, podsMeasured: 2, throttledRatio: 0.7 });
    expect(demand.secondsPerRequest).toBeCloseTo(0.96 / 40, 12);
    // Use counts 1 + 0.7·0.8 times: at 96 % four fifths of the way from 80 % of the quota to all of it.
    expect(demand.cores / 0.5).toBeCloseTo(2 * 0.96 * (1 + 0.7 * 0.8), 9);
  });

  it("has no part in the size that a decision starts from", () => {
    expect(containerSize(WINDOW)).toEqual({ cpuCores: 0.5, memoryBytes: 512e6 });
  });

  it("has no part in what the models of a service see: cores, use, load and interference are those of the application", () => {
    expect(profileObservation(WINDOW, false, { youngSeconds: 0 })).toMatchObject({
      cpuCores: 0.5,
      cpuUsageCores: 0.48,
      loadPerContainer: 20,
    });
    expect(surroundingsOf(WINDOW).interference).toEqual(Array.from({ length: 4 }, () => Number.NaN));
  });

  it("counts as a container of its own in windows that say nothing of sidecars", () => {
    const containers = WINDOW.containers.map(({ id, podName }) => ({ id, podName: podName! }));
    expect(mainContainers({ containers })).toBe(containers);
  });
});
