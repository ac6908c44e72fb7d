import { allocatedCpuCores, mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { Observation } from "../../facts/observation.ts";
import type { PodRoom } from "../price/cost-inputs.ts";

/** What pods of a service take of nodes, in the mean of those that serve; a request is all of a size where none serves. */
export function podRoom({ baseReplicas, readyReplicas = 0, window }: Observation): PodRoom {
  const { podsUnscheduled = 0, replicasWanted = baseReplicas } = window ?? {};
  const main = window === undefined ? [] : mainContainers(window);
  const requested = main.reduce((sum, { cpuRequestCores = 0 }) => sum + cpuRequestCores, 0);
  const allocated = main.reduce((sum, each) => sum + (allocatedCpuCores(each) ?? 0), 0);
  const all = window?.containers.reduce((sum, { cpuRequestCores = 0 }) => sum + cpuRequestCores, 0) ?? 0;
  return {
    taken: Math.max(readyReplicas, replicasWanted - podsUnscheduled),
    requestRatio: allocated > 0 ? requested / allocated : 1,
    sidecarCores: main.length > 0 ? Math.max(0, all - requested) / main.length : 0,
  };
}
