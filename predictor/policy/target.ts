import type { PolicyName, WishStep } from "@tradewind/core/contract/plan.ts";
import type { Advice } from "./advice.ts";
import type { Observation } from "./observe/observation.ts";

/** What one level of the ladder would run for one service, and why. */
export interface Target {
  readonly replicas: number;
  readonly policy: PolicyName;
  readonly reason: string;
  /** Size of each container; absent parts are left as they are. */
  readonly cpuCores?: number;
  readonly memoryBytes?: number;
  /** Sizes that nothing counts on, of the parts that are absent above. */
  readonly advice?: Advice;
  /** What a decision by models knows beside. */
  readonly planned?: PlannedTarget;
}

export interface PlannedTarget {
  readonly steps: readonly WishStep[];
  /** Predicted tail of the slowest flow through the service after the plan, seconds. */
  readonly latencyAfterSeconds?: number;
  /** Confidence of the profile at the wished size, in [0, 1]. */
  readonly confidence: number;
  /** CPU of each container at which these replicas cost least, where nothing can move it, cores. */
  readonly cheapestCores?: number;
  /** Names the profile that was used: its model's content, or that of the prior. */
  readonly modelHash: string;
}

/** Targets by service. */
export type Targets = ReadonlyMap<string, Target>;

/**
 * `replicas` within the service's bounds. One replica is the least even with `minReplicas` 0: only a service that the
 * platform has already put to sleep, and that nobody calls, stays at 0.
 */
export function bounded(observation: Observation, replicas: number): number {
  const { spec, baseReplicas, window } = observation;
  const asleep = baseReplicas === 0 && spec.minReplicas === 0 && !((window?.requestsPerSecond ?? 0) > 0);
  return Math.min(Math.max(replicas, asleep ? 0 : Math.max(1, spec.minReplicas)), spec.maxReplicas);
}

/** What a decision starts from, raised to the reactive need, within bounds: nothing is taken away. */
export function floorReplicas(observation: Observation): number {
  return bounded(observation, Math.max(observation.baseReplicas, observation.need ?? 0));
}

export function totalBase(observations: readonly Observation[]): number {
  return observations.reduce((sum, { baseReplicas }) => sum + baseReplicas, 0);
}

/** A ratio for people: `130 %`. */
export function percent(ratio: number): string {
  return `${Math.round(ratio * 100)} %`;
}

/** What happens to the replicas of a service: `2 → 4 replicas`, `keep 4 replicas`. */
export function move({ baseReplicas, window }: Observation, wished: number): string {
  if (wished !== baseReplicas) return `${baseReplicas} → ${replicas(wished)}`;
  const running = window?.replicasWanted;
  const late = running === undefined || running <= wished ? "" : ` (${running} still run)`;
  return `keep ${replicas(wished)}${late}`;
}

const replicas = (count: number): string => `${count} ${count === 1 ? "replica" : "replicas"}`;

/** Seconds for people: `412 ms`, `2.0 s`. */
export function duration(seconds: number): string {
  return seconds < 1 ? `${Math.round(1e3 * seconds)} ms` : `${seconds.toFixed(1)} s`;
}

/** `1 pod`, `3 pods`. */
export function pods(count: number): string {
  return count === 1 ? "1 pod" : `${count} pods`;
}
