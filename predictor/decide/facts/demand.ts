import type { Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, mainContainers } from "@tradewind/core/measure/main-containers.ts";

/** CPU that a service asks for and what one replica can give, both in cores. */
export interface CpuDemand {
  /** What requests ask for, the work of those that wait included. */
  readonly cores: number;
  /** What the pods measured used, cores. */
  readonly usageCores: number;
  /** Capacity of one pod: limit, or request where there is no limit. */
  readonly podCapacityCores: number;
  readonly podsMeasured: number;
  /** Mean over the pods of the share of throttled CFS periods. */
  readonly throttledRatio: number;
  /** CPU seconds per request, utilisation law; absent without requests. */
  readonly secondsPerRequest?: number;
  /** Requests that wait beyond what the replicas hold at their target utilisation. */
  readonly backlog: number;
}

/** Requests waiting for or served in a service, Little's law. Absent means not known. */
export interface QueueTrend {
  readonly now?: number | undefined;
  /** In the window before. */
  readonly before?: number | undefined;
  /** The containers have only just become larger: unless the queue grows still, they are busy with what waited before. */
  readonly enlarged?: boolean;
}

/** A queue that shrinks by this share in a window is being worked off. */
const DRAINING_SHARE = 0.1;

/** Fewer requests than this in a service at once, on average, are no queue: how many there are changes by chance. */
const LEAST_QUEUE = 1;

/** The queue is being worked off: what runs takes more than what comes. */
export function isDraining({ now, before }: QueueTrend): boolean {
  if (now === undefined || before === undefined || before < LEAST_QUEUE) return false;
  return now < (1 - DRAINING_SHARE) * before;
}

function isCatchingUp({ enlarged, now, before }: QueueTrend): boolean {
  return enlarged === true && now !== undefined && before !== undefined && now <= before;
}

interface PodUse {
  usageCores: number;
  capacityCores: number;
  throttledRatio: number;
}

/**
 * The CPU demand of a service over a window, or undefined when no pod has both its use and its capacity measured.
 *
 * - Use U shows what was served. Arrivals are what was served plus the growth of the queue: `s·(λ + ΔL/T)` with the CPU
 *   seconds per request `s = U/λ` (utilisation law) and the queue L by Little's law.
 * - A container that has used up its quota would have used more: with a share τ of its periods throttled its use counts
 *   up to `1 + τ` times, since a quota hides how much more. Below 80 % of the quota throttled work is only delayed, and
 *   use is the whole demand; from there to the full quota the factor rises. Not so while a queue is being worked off:
 *   pods are then busy with the past.
 * - Requests beyond `ρ/(1 − ρ)` per replica (processor sharing at the target utilisation ρ) are a backlog; working it off
 *   in `drainSeconds` takes `backlog·s/drainSeconds` on top.
 */
export function cpuDemand(
  window: Window,
  queue: QueueTrend,
  targetUtilisation: number,
  drainSeconds: number,
): CpuDemand | undefined {
  const pods = [...podUses(window).values()];
  if (pods.length === 0) return undefined;
  const usageCores = pods.reduce((sum, pod) => sum + pod.usageCores, 0);
  const throttledRatio = pods.reduce((sum, pod) => sum + pod.throttledRatio, 0) / pods.length;
  const rate = window.requestsPerSecond ?? 0;
  const secondsPerRequest = rate > 0 ? usageCores / rate : undefined;
  const held = (pods.length * targetUtilisation) / (1 - targetUtilisation);
  const backlog = Math.max(0, (queue.now ?? 0) - held);
  const byTrend = coresByTrend(window, queue, usageCores, secondsPerRequest);
  const unthrottled = pods.reduce((sum, pod) => sum + unthrottledCores(pod), 0);
  const arriving = isDraining(queue) || isCatchingUp(queue) ? byTrend : Math.max(byTrend, unthrottled);
  return {
    cores: arriving + (backlog * (secondsPerRequest ?? 0)) / drainSeconds,
    usageCores,
    podCapacityCores: pods.reduce((sum, pod) => sum + pod.capacityCores, 0) / pods.length,
    podsMeasured: pods.length,
    throttledRatio,
    ...(secondsPerRequest !== undefined && { secondsPerRequest }),
    backlog,
  };
}

/** Share of the quota from which on throttling may hide demand. */
const QUOTA_USED = 0.8;

function unthrottledCores({ usageCores, capacityCores, throttledRatio }: PodUse): number {
  const used = (usageCores / capacityCores - QUOTA_USED) / (1 - QUOTA_USED);
  return usageCores * (1 + throttledRatio * Math.min(1, Math.max(0, used)));
}

/** At least half of what was used: a queue that vanished at once was given up, not served. */
function coresByTrend(
  { startMs, endMs }: Window,
  { now, before }: QueueTrend,
  usageCores: number,
  secondsPerRequest: number | undefined,
): number {
  const seconds = (endMs - startMs) / 1e3;
  if (secondsPerRequest === undefined || now === undefined || before === undefined || seconds <= 0)
    return usageCores;
  return Math.max(0.5 * usageCores, usageCores + (secondsPerRequest * (now - before)) / seconds);
}

/** The main container of each pod; one without use or without both limit and request is left out. */
function podUses(window: Window): ReadonlyMap<string, PodUse> {
  const pods = new Map<string, PodUse>();
  for (const container of mainContainers(window)) {
    const { cpuUsageCores } = container;
    const capacityCores = allocatedCpuCores(container);
    if (cpuUsageCores === undefined || capacityCores === undefined) continue;
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

/** A container that uses this share of its CPU limit counts as throttled whether or not that was measured. */
const FULL_SHARE = 0.9;

/** Share of a service's CPU time that it was given while its containers were throttled or full, [0, 1]. */
export function throttledShare(window: Window | undefined): number {
  let [used, throttled] = [0, 0];
  const containers = window === undefined ? [] : mainContainers(window);
  for (const { cpuLimitCores, cpuThrottledRatio = 0, cpuUsageCores = 0 } of containers) {
    const isFull = cpuLimitCores !== undefined && cpuUsageCores >= FULL_SHARE * cpuLimitCores;
    used += cpuUsageCores;
    throttled += cpuUsageCores * (isFull ? 1 : cpuThrottledRatio);
  }
  return used > 0 ? throttled / used : 0;
}
