import { normalCdf } from "../normal.ts";
import { RECENT_WINDOWS } from "../recent-windows.ts";
import { CFS_PERIOD_SECONDS } from "./queue-curve.ts";
import { SATURATED } from "./take-window.ts";

/**
 * How unevenly a container asks for its CPU. The work of a CFS period is normal with mean m and variance b·m, where b, the burst, is
 * the CPU that comes at once: about one request's where requests come one by one, several where callers send them together, a collector
 * runs, or the kernel hands out a small quota in slices to more CPUs than it has slices for. Throttled periods, which the kernel counts,
 * say how large b is, also where the spans show no wait: those of a quota of a few milliseconds begin after it.
 */
const BURST_SECONDS = Array.from({ length: 17 }, (_, index) => 0.000_5 * 2 ** (index / 2));

/** ln of how likely the throttled periods seen are under each of {@link BURST_SECONDS}. */
export type CpuBursts = readonly number[];
export const BURST_COUNT = BURST_SECONDS.length;

/** One container over one window. */
export interface ThrottledContainer {
  readonly cpuLimitCores: number;
  readonly cpuUsageCores: number;
  /** Share of its CFS periods that were throttled, [0, 1]. */
  readonly throttledRatio: number;
  readonly windowSeconds: number;
}

/** Periods in a row are much alike: so many say what one independent of the others would. */
const PERIODS_ALIKE = 5;
/** Standard deviation of ln burst before any throttled period was seen, around one request. */
const PRIOR_SPREAD = 1;

/** Chance that the work of a period is more than the quota, with means of work and quota in seconds of CPU. */
function throttledChance(workSeconds: number, quotaSeconds: number, burstSeconds: number): number {
  if (!(workSeconds > 0)) return 0;
  return normalCdf((workSeconds - quotaSeconds) / Math.sqrt(burstSeconds * workSeconds));
}

/** Takes in the containers of one window, as many as were measured. One that is full hides how much it was asked for. */
export function burstsAfter(
  before: CpuBursts | undefined,
  containers: readonly ThrottledContainer[],
): CpuBursts | undefined {
  const telling = containers.filter(
    ({ cpuLimitCores, cpuUsageCores }) => cpuUsageCores > 0 && cpuUsageCores <= SATURATED * cpuLimitCores,
  );
  if (telling.length === 0) return before;
  return BURST_SECONDS.map((burstSeconds, index) => {
    let likelihood = (1 - 1 / RECENT_WINDOWS) * (before?.[index] ?? 0);
    for (const { cpuLimitCores, cpuUsageCores, throttledRatio, windowSeconds } of telling) {
      const work = cpuUsageCores * CFS_PERIOD_SECONDS;
      const chance = throttledChance(work, cpuLimitCores * CFS_PERIOD_SECONDS, burstSeconds);
      const periods = windowSeconds / CFS_PERIOD_SECONDS / PERIODS_ALIKE / telling.length;
      // Other things throttle, too: no chance is nearer to 0 or 1 than half of a period says.
      const least = Math.min(0.5, 0.5 / periods);
      const bounded = Math.min(1 - least, Math.max(least, chance));
      likelihood +=
        periods * (throttledRatio * Math.log(bounded) + (1 - throttledRatio) * Math.log1p(-bounded));
    }
    return likelihood;
  });
}

/** A size and a load of one container, and what its requests take. */
export interface StallPlace {
  readonly cpuLimitCores: number;
  readonly requestsPerSecond: number;
  readonly objectiveSeconds: number;
}

/** What is known of the CPU of a service, as `demandOf` has it. */
interface CpuTaken {
  readonly cpuSecondsPerRequest: number;
  readonly housekeepingCores: number;
  /** Cores that the program can use at once. */
  readonly parallelism: number;
}

/**
 * Share of the requests that a used-up quota alone takes over an objective shorter than a CFS period, [0, 1]: those of throttled periods
 * that come so early that the wait for the next period is longer than the objective. A quota is used up no sooner than the program at its
 * widest can.
 */
export function stalledShares(bursts: CpuBursts, taken: CpuTaken): (place: StallPlace) => number {
  const { cpuSecondsPerRequest, housekeepingCores, parallelism } = taken;
  const logs = BURST_SECONDS.map((burstSeconds, index) => {
    const distance = Math.log(burstSeconds / cpuSecondsPerRequest) / PRIOR_SPREAD;
    return (bursts[index] ?? 0) - (distance * distance) / 2;
  });
  const most = Math.max(...logs);
  const weights = logs.map((log) => Math.exp(log - most));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return ({ cpuLimitCores, objectiveSeconds, requestsPerSecond }) => {
    const early = 1 - objectiveSeconds / CFS_PERIOD_SECONDS - cpuLimitCores / parallelism;
    if (!(early > 0)) return 0;
    const workSeconds = CFS_PERIOD_SECONDS * (housekeepingCores + requestsPerSecond * cpuSecondsPerRequest);
    const quotaSeconds = CFS_PERIOD_SECONDS * cpuLimitCores;
    const throttled = weights.reduce(
      (share, weight, index) =>
        share + weight * throttledChance(workSeconds, quotaSeconds, BURST_SECONDS[index] ?? 0),
      0,
    );
    return (early * throttled) / sum;
  };
}
