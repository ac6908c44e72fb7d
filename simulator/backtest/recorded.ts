import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import {
  allocatedCpuCores,
  allocatedMemoryBytes,
  mainContainers,
} from "@tradewind/core/measure/main-containers.ts";
import type { FittedHistory } from "./fitted.ts";
import { flowOf, overRatio } from "./route-model.ts";

/** What really ran, from the recorded windows alone. */
export interface RecordedResult {
  readonly requests: number;
  /** Share of requests over the objective, by the p95 and spread of each interval. */
  readonly requestsOver: number;
  /** Share of intervals in which a route's p95 was over the objective. */
  readonly intervalsOver: number;
  /** Means of what main containers, which replays have alone, were limited to, or requested where they had no limit. */
  readonly cores: number;
  readonly gigabytes: number;
  readonly costPerHour: number;
  /** Sum of the changes of replica counts, up and down. */
  readonly starts: number;
  readonly stops: number;
}

export function recordedResult(
  sets: readonly WindowSet[],
  { routes }: FittedHistory,
  { objective, prices }: Application,
): RecordedResult {
  const objectiveSeconds = objective.milliseconds / 1e3;
  const sums = { requests: 0, over: 0, intervals: 0, missed: 0, seconds: 0, coreSeconds: 0, byteSeconds: 0 };
  const moves = { starts: 0, stops: 0 };
  const replicas = new Map<string, number>();
  for (const set of sets) {
    const seconds = (set.endMs - set.startMs) / 1e3;
    sums.seconds += seconds;
    let missed = false;
    for (const { requestSpread, route } of routes) {
      const flow = flowOf(set, route);
      if (flow === undefined) continue;
      const requests = flow.requestsPerSecond * seconds;
      sums.requests += requests;
      sums.over += requests * overRatio(flow.latency.p95Seconds, objectiveSeconds, requestSpread);
      missed ||= flow.latency.p95Seconds > objectiveSeconds;
    }
    sums.intervals += 1;
    sums.missed += missed ? 1 : 0;
    for (const window of set.windows) {
      const { replicasReady, service } = window;
      const containers = mainContainers(window);
      sums.coreSeconds += seconds * containers.reduce((sum, each) => sum + (allocatedCpuCores(each) ?? 0), 0);
      sums.byteSeconds +=
        seconds * containers.reduce((sum, each) => sum + (allocatedMemoryBytes(each) ?? 0), 0);
      if (replicasReady === undefined) continue;
      const change = replicasReady - (replicas.get(service) ?? replicasReady);
      replicas.set(service, replicasReady);
      if (change > 0) moves.starts += change;
      else moves.stops -= change;
    }
  }
  const cores = sums.coreSeconds / sums.seconds;
  const bytes = sums.byteSeconds / sums.seconds;
  return {
    requests: sums.requests,
    requestsOver: sums.requests === 0 ? 0 : sums.over / sums.requests,
    intervalsOver: sums.intervals === 0 ? 0 : sums.missed / sums.intervals,
    cores,
    gigabytes: bytes / 1e9,
    costPerHour: costPerHour({ cpuCores: cores, memoryBytes: bytes }, prices),
    ...moves,
  };
}
