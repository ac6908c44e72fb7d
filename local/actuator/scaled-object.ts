import { Behavior } from "./behavior.ts";
import type { ScaledObjectRef } from "./scaler-client.ts";

/** The parts of a KEDA ScaledObject that matter here; one for each service. */
export interface ScaledObject {
  readonly ref: ScaledObjectRef;
  readonly service: string;
  /** 0 lets KEDA stop the last replica while the scaler is inactive. */
  readonly minReplicaCount: number;
  readonly maxReplicaCount: number;
  readonly behavior: Behavior;
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

/** What the documentation recommends for Tradewind, with the demonstration's window. */
export function recommendedBehavior({ scaleDownStabilizationSeconds }: ActuatorTimings): Behavior {
  return Behavior.parse({
    scaleUp: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [
        { type: "Percent", value: 400, periodSeconds: 15 },
        { type: "Pods", value: 4, periodSeconds: 15 },
      ],
      tolerance: 0,
    },
    scaleDown: {
      stabilizationWindowSeconds: scaleDownStabilizationSeconds,
      selectPolicy: "Max",
      policies: [{ type: "Percent", value: 50, periodSeconds: 6 }],
      tolerance: 0,
    },
  });
}

/** Name that KEDA gives an external metric in the HPA: `s` with the number of its trigger, a dash, the scaler's name. */
export const hpaMetricName = (triggerIndex: number, metricName: string): string =>
  `s${triggerIndex}-${metricName}`;

/** The scaler's own name again; it may hold further dashes. */
export const scalerMetricName = (hpaName: string): string => hpaName.replace(/^s\d+-/, "");
