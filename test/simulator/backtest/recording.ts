import { Application } from "@tradewind/core/contract/application.ts";
import type { LatencySummary, Window, WindowSet } from "@tradewind/core/contract/window.ts";

export const APPLICATION = Application.parse({
  name: "two",
  entry: "front",
  objective: { milliseconds: 120 },
  services: ["front", "back"].map((name) => ({ name, minReplicas: 1, maxReplicas: 20 })),
});

const WINDOW_MS = 15_000;
const latency = (p95Seconds: number, count: number): LatencySummary => ({
  count,
  meanSeconds: p95Seconds / 2.5,
  p50Seconds: p95Seconds / 3,
  p95Seconds,
  p99Seconds: p95Seconds * 1.4,
});

/** Self-time p95 of a processor-sharing server with one core: 30 ms unloaded, CPU 10 ms a request. */
export const selfTime = (requestsPerSecond: number): number => 0.03 / (1 - 0.01 * requestsPerSecond);

/**
 * A recording of `front`, which calls `back` once, each with `replicas` containers of one core. Load swings between 20 and
 * 80 % of what one core serves.
 */
export function recording(intervals: number, replicas = 1, startMs = 1_000_000 * WINDOW_MS): WindowSet[] {
  return Array.from({ length: intervals }, (_, place): WindowSet => {
    const perReplica = 50 + 30 * Math.sin(place / 7);
    const rate = perReplica * replicas;
    const [begin, end] = [startMs + place * WINDOW_MS, startMs + (place + 1) * WINDOW_MS];
    const window = (service: string, callees: Window["callees"]): Window => ({
      namespace: "default",
      service,
      startMs: begin,
      endMs: end,
      replicasReady: replicas,
      replicasWanted: replicas,
      requestsPerSecond: rate,
      ownLatency: latency(selfTime(perReplica), Math.round(rate * 15)),
      callees,
      containers: Array.from({ length: replicas }, (__, number) => ({
        id: `${service}-${number}`,
        cpuRequestCores: 1,
        cpuLimitCores: 1,
        cpuUsageCores: 0.01 * perReplica,
        memoryLimitBytes: 256e6,
        memoryWorkingSetBytes: 100e6,
      })),
    });
    return {
      startMs: begin,
      endMs: end,
      windows: [
        window("front", [{ callee: "back", callsPerSecond: rate, parallelRatio: 0 }]),
        window("back", []),
      ],
      flows: [
        {
          flow: "GET /",
          entryService: "front",
          requestsPerSecond: rate,
          errorRatio: 0,
          latency: latency(2 * selfTime(perReplica) + 0.01, Math.round(rate * 15)),
          services: ["front", "back"],
          calls: [{ caller: "front", callee: "back", callsPerRequest: 1, parallelRatio: 0 }],
        },
      ],
    };
  });
}
