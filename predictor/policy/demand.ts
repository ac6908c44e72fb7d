import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";

/** CPU that a service asks for and what one replica can give, both in cores. */
export interface CpuDemand {
  /** Use of the measured pods, corrected for throttling, with the backlog worked off within a window. */
  readonly cores: number;
  /** Capacity of one pod: limit, or request where there is no limit. */
  readonly podCapacityCores: number;
  readonly podsMeasured: number;
  readonly throttledRatio: number;
  /** CPU seconds per request, utilisation law; absent without requests. */
  readonly secondsPerRequest?: number;
  /** Requests that wait beyond what the replicas hold at their target utilisation. */
  readonly backlog: number;
}

interface PodUse {
  usageCores: number;
  capacityCores: number;
  throttledRatio: number;
}

/**
 * The CPU demand of a service over a window, or undefined when no pod has both its use and its capacity measured.
 *
 * A throttled container would have used more: with a share τ of its periods throttled its use is taken times (1 + τ), at
 * most double, since a quota hides how much more it is. Requests beyond `ρ/(1 − ρ)` per replica (processor sharing at the
 * target utilisation ρ) are a backlog; working it off within one window takes `backlog × CPU seconds per request / window`.
 * @param ownRequests requests waiting for or served in the service; absent counts as no backlog
 */
export function cpuDemand(
  window: Window,
  ownRequests: number | undefined,
  targetUtilisation: number,
): CpuDemand | undefined {
  const pods = [...podUses(window.containers).values()];
  if (pods.length === 0) return undefined;
  const usageCores = pods.reduce((sum, pod) => sum + pod.usageCores, 0);
  const correctedCores = pods.reduce((sum, pod) => sum + pod.usageCores * (1 + pod.throttledRatio), 0);
  const podCapacityCores = pods.reduce((sum, pod) => sum + pod.capacityCores, 0) / pods.length;
  const throttledRatio = pods.reduce((sum, pod) => sum + pod.throttledRatio, 0) / pods.length;
  const rate = window.requestsPerSecond ?? 0;
  const secondsPerRequest = rate > 0 ? usageCores / rate : undefined;
  const held = (pods.length * targetUtilisation) / (1 - targetUtilisation);
  const backlog = Math.max(0, (ownRequests ?? 0) - held);
  const windowSeconds = (window.endMs - window.startMs) / 1e3;
  const backlogCores =
    secondsPerRequest === undefined || windowSeconds <= 0 ? 0 : (backlog * secondsPerRequest) / windowSeconds;
  return {
    cores: correctedCores + backlogCores,
    podCapacityCores,
    podsMeasured: pods.length,
    throttledRatio,
    ...(secondsPerRequest !== undefined && { secondsPerRequest }),
    backlog,
  };
}

/** Sums the containers of each pod; a container without use or without both limit and request is left out. */
function podUses(containers: readonly ContainerWindow[]): ReadonlyMap<string, PodUse> {
  const pods = new Map<string, PodUse>();
  for (const container of containers) {
    const { cpuUsageCores } = container;
    const capacityCores = container.cpuLimitCores ?? container.cpuRequestCores;
    if (cpuUsageCores === undefined || capacityCores === undefined || capacityCores <= 0) continue;
    const name = container.podName ?? container.id;
    const before = pods.get(name) ?? { usageCores: 0, capacityCores: 0, throttledRatio: 0 };
    pods.set(name, {
      usageCores: before.usageCores + cpuUsageCores,
      capacityCores: before.capacityCores + capacityCores,
      throttledRatio: Math.max(before.throttledRatio, container.cpuThrottledRatio ?? 0),
    });
  }
  return pods;
}
