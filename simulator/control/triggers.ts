import { proposeReplicas } from "@tradewind/core/hpa/hpa.ts";
import type { Proposal } from "@tradewind/core/hpa/hpa.ts";
import type { Behavior } from "@tradewind/core/hpa/behavior.ts";
import { proposeByUtilisation, proposeByValue } from "@tradewind/core/hpa/resource-metric.ts";
import type { MeasuredPod } from "@tradewind/core/hpa/resource-metric.ts";

/** Trigger `cpu` of a ScaledObject, or a Resource metric of an HPA: use over request, percent. */
export interface CpuTrigger {
  readonly kind: "cpu";
  readonly targetPercent: number;
}

/** A number that KEDA reads, from a metrics server or an external scaler. */
export interface ExternalTrigger {
  readonly kind: "external";
  /** AverageValue: `ceil(value / target)`. Value: the ratio to the target times the ready pods. */
  readonly metricType: "AverageValue" | "Value";
  readonly target: number;
  /** The number stands for an answer of an external scaler, which fails while that is down. */
  readonly isFromScaler: boolean;
  /** @returns undefined for an error: UNAVAILABLE, no such series, the server is down */
  readonly read: (nowMs: number) => number | undefined;
  /** Decides only between no replica and one; undefined for an error. */
  readonly isActive: (nowMs: number) => boolean | undefined;
}

export type Trigger = CpuTrigger | ExternalTrigger;

/** The parts of a KEDA ScaledObject that decide. */
export interface ScaledObject {
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly pollingIntervalSeconds: number;
  readonly cooldownSeconds: number;
  /** `advanced.horizontalPodAutoscalerConfig.behavior`, in full. */
  readonly behavior: Behavior;
  readonly triggers: readonly Trigger[];
}

/** What KEDA makes of a float: a quantity, and from 2.20.2 zero of what is negative or no number. */
export function quantity(value: number): number {
  return Number.isFinite(value) && value > 0 ? Math.round(value * 1e3) / 1e3 : 0;
}

/** What one sync knows of the scale target. */
export interface ScaleTarget {
  /** `spec.replicas` */
  readonly current: number;
  /** Pods of the workload, those being deleted included. */
  readonly pods: readonly MeasuredPod[];
  readonly nowMs: number;
  readonly isScalerDown: boolean;
}

/** Replicas that one trigger asks for; undefined when its metric cannot be read. */
export function proposalOf(
  trigger: Trigger,
  { current, isScalerDown, nowMs, pods }: ScaleTarget,
  behavior: Behavior,
): Proposal | undefined {
  if (trigger.kind === "cpu") {
    return proposeByUtilisation(pods, { targetPercent: trigger.targetPercent, behavior }, current, nowMs);
  }
  const read = trigger.isFromScaler && isScalerDown ? undefined : trigger.read(nowMs);
  const value = read === undefined ? undefined : quantity(read);
  if (trigger.metricType === "Value") {
    const readyPods = pods.filter(({ isDeleting, isReady }) => isReady && !isDeleting).length;
    return proposeByValue({ value, target: trigger.target }, behavior, current, readyPods);
  }
  // `status.replicas`, which counts pods that start; inside the tolerance the controller writes this one back.
  const existing = pods.filter(({ isDeleting }) => !isDeleting).length;
  const metric = value === undefined ? undefined : { usage: value, targetAverageValue: trigger.target };
  return proposeReplicas(metric, existing, behavior);
}
