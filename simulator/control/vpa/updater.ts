import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import { capped } from "@tradewind/exporter/controller/vpa/steer.ts";
import type { PodView, Size } from "../../world.ts";
import type { Advice } from "./recommender.ts";

/** `--updater-interval` */
export const UPDATER_SECONDS = 60;
/** From the updater's patch until the kubelet has set the cgroup. */
export const RESIZE_SECONDS = 3;
/** Pods of this age are also changed for a smaller difference: `--pod-update-threshold` and its lifetime. */
const OLD_MS = 12 * 3_600_000;
const OLD_DIFFERENCE = 0.1;

const RESOURCES = ["cpuCores", "memoryBytes"] as const;
type Resource = (typeof RESOURCES)[number];

const requestOf = (pod: PodView, resource: Resource): number =>
  resource === "cpuCores" ? pod.cpuRequestCores : pod.memoryRequestBytes;

/** The advice inside what the VPA's policy allows, here the bounds of the service. */
export function allowed(advice: Advice, { cpu, memory }: Pick<ServiceSpec, "cpu" | "memory">): Advice {
  const least = { cpuCores: cpu.minCores, memoryBytes: memory.minBytes };
  const most = { cpuCores: cpu.maxCores, memoryBytes: memory.maxBytes };
  const { cpuCores, memoryBytes } = advice;
  return {
    ...(cpuCores && { cpuCores: capped(cpuCores, "cpuCores", least, most) }),
    ...(memoryBytes && { memoryBytes: capped(memoryBytes, "memoryBytes", least, most) }),
  };
}

/** `InPlaceOrRecreate`, where every resize in place succeeds, or `Recreate`, which evicts pods. */
export type UpdateMode = "in-place" | "recreate";
/** `--min-replicas`: pods of a service with fewer are not evicted. */
const LEAST_EVICTED = 2;

/**
 * One round of the VPA's updater for one service: the targets, as soon as a pod requests less than a lower bound or more than an
 * upper one, or is older than 12 h and 10 % off in all.
 * @returns undefined when no pod is to be changed
 */
export function update(
  pods: readonly PodView[],
  advice: Advice,
  mode: UpdateMode,
  nowMs: number,
): Size | undefined {
  const running = pods.filter(({ phase }) => phase === "ready" || phase === "starting");
  if (mode === "recreate" && running.length < LEAST_EVICTED) return undefined;
  const due = running.some((pod) => {
    let difference = 0;
    for (const resource of RESOURCES) {
      const bounds = advice[resource];
      const request = requestOf(pod, resource);
      if (bounds === undefined) continue;
      if (request < bounds.lowerBound || request > bounds.upperBound) return true;
      difference += Math.abs(request - bounds.target) / Math.max(request, Number.MIN_VALUE);
    }
    return nowMs - pod.createdAtMs > OLD_MS && difference >= OLD_DIFFERENCE;
  });
  if (!due) return undefined;
  return {
    ...(advice.cpuCores && { cpuCores: advice.cpuCores.target }),
    ...(advice.memoryBytes && { memoryBytes: advice.memoryBytes.target }),
  };
}
