import { DOCUMENTED_BEHAVIOR } from "@tradewind/core/hpa/behavior.ts";
import type { Behavior } from "@tradewind/core/hpa/behavior.ts";
import type { ScaledObjectRef } from "./scaler-client.ts";

/** What an autoscaler is told about one service, whatever metric it follows. */
export interface ScalingRule {
  readonly service: string;
  /** 0 lets KEDA stop the last replica while the scaler is inactive. */
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly behavior: Behavior;
}

/** The parts of a KEDA ScaledObject with an external trigger that matter here. */
export interface ScaledObject extends ScalingRule {
  readonly ref: ScaledObjectRef;
}

/** Seconds between two polls, two syncs, and back to fewer replicas. */
export interface ActuatorTimings {
  readonly pollingIntervalSeconds: number;
  readonly syncPeriodSeconds: number;
  readonly scaleDownStabilizationSeconds: number;
}

/** Compressed, so that a run of minutes shows what takes a cluster a quarter of an hour; a cluster has 30, 15 and 300. */
export const DEMO_TIMINGS: ActuatorTimings = {
  pollingIntervalSeconds: 3,
  syncPeriodSeconds: 3,
  scaleDownStabilizationSeconds: 20,
};

/** The tolerance of a HorizontalPodAutoscaler that says nothing. */
export const KUBERNETES_TOLERANCE = 0.1;

/**
 * What the documentation recommends for Tradewind, with the demonstration's window. Every policy gets the same, but for the
 * tolerance, so that runs compare what decides and not how fast it may move.
 * @param tolerance share by which the metric may miss its target without any move; 0 for recommendations
 */
export function demoBehavior(
  { scaleDownStabilizationSeconds }: ActuatorTimings,
  tolerance: number,
): Behavior {
  const { scaleDown, scaleUp } = DOCUMENTED_BEHAVIOR;
  return {
    scaleUp: { ...scaleUp, tolerance },
    scaleDown: {
      ...scaleDown,
      stabilizationWindowSeconds: scaleDownStabilizationSeconds,
      policies: [{ type: "Percent", value: 50, periodSeconds: 6 }],
      tolerance,
    },
  };
}

/** Name that KEDA gives an external metric in the HPA: `s` with the number of its trigger, a dash, the scaler's name. */
export const hpaMetricName = (triggerIndex: number, metricName: string): string =>
  `s${triggerIndex}-${metricName}`;

/** The scaler's own name again; it may hold further dashes. */
export const scalerMetricName = (hpaName: string): string => hpaName.replace(/^s\d+-/, "");
