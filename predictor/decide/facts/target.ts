import type { PolicyName, WishStep } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { StatedSize } from "./container-size.ts";
import type { Observation } from "./observation.ts";

/** Sizes that a decision does not count on: what would be cheapest if it could be moved. */
export interface Advice {
  /** Of each container, only where the target states none. */
  readonly size: StatedSize;
  /** CPU that the decisions of the last hours took, before rounding, cores. */
  readonly cpuCores?: number;
}

/** What one level of the ladder would run for one service, and why. */
export interface Target {
  readonly replicas: number;
  readonly policy: PolicyName;
  readonly reasons: readonly Reason[];
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
 * platform has already put to sleep, and that nobody calls, stays at 0. No more than nodes take, whatever CPU they have.
 */
export function bounded(observation: Observation, replicas: number): number {
  const { baseReplicas, mostReplicas = Infinity, spec, window } = observation;
  const asleep = baseReplicas === 0 && spec.minReplicas === 0 && !((window?.requestsPerSecond ?? 0) > 0);
  const least = asleep ? 0 : Math.max(1, spec.minReplicas);
  return Math.min(Math.max(replicas, least), Math.max(mostReplicas, least), spec.maxReplicas);
}

/** What a decision starts from, raised to the reactive need, within bounds: nothing is taken away. */
export function floorReplicas(observation: Observation): number {
  return bounded(observation, Math.max(observation.baseReplicas, observation.need ?? 0));
}

export function totalBase(observations: readonly Observation[]): number {
  return observations.reduce((sum, { baseReplicas }) => sum + baseReplicas, 0);
}
