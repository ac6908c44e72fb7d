import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

export const REPLICAS = 4;
export const CPU_CORES = 0.5;

/** A window of one service: {@link REPLICAS} containers of {@link CPU_CORES} at this utilisation. */
export function windowOf(
  service: string,
  cpuSecondsPerRequest: number,
  utilisation: number,
  rng: Rng,
): Window {
  const ownTail = (3 * cpuSecondsPerRequest) / (1 - Math.min(0.95, utilisation));
  return {
    namespace: "default",
    service,
    startMs: 0,
    endMs: 15_000,
    replicasReady: REPLICAS,
    replicasWanted: REPLICAS,
    requestsPerSecond: (utilisation * CPU_CORES * REPLICAS) / cpuSecondsPerRequest,
    ownLatency: {
      count: 1_000,
      meanSeconds: ownTail / 3,
      p50Seconds: ownTail / 4,
      p95Seconds: ownTail,
      p99Seconds: 1.5 * ownTail,
    },
    callees: [],
    containers: Array.from({ length: REPLICAS }, (_, replica) =>
      container(service, replica, utilisation, rng),
    ),
  };
}

function container(service: string, replica: number, utilisation: number, rng: Rng): ContainerWindow {
  const component = { supported: true, value: Math.round(rng() * 3) / 10 };
  return {
    id: `${service}-${replica}`,
    cpuLimitCores: CPU_CORES,
    cpuRequestCores: CPU_CORES,
    cpuUsageCores: Math.min(1, utilisation) * CPU_CORES,
    memoryLimitBytes: 512e6,
    memoryWorkingSetBytes: 200e6,
    interference: {
      cpu: component,
      memoryCapacity: component,
      memoryBandwidth: component,
      network: component,
    },
  };
}
