/** One scaling policy of an HPA: at most so many pods, or so many percent, within `periodSeconds`. */
interface ScalingPolicy {
  readonly type: "Pods" | "Percent";
  readonly value: number;
  readonly periodSeconds: number;
}

export interface ScalingRules {
  readonly stabilizationWindowSeconds: number;
  readonly selectPolicy: "Max" | "Min" | "Disabled";
  readonly policies: readonly ScalingPolicy[];
  /** Share by which the metric may miss its target without any move. */
  readonly tolerance: number;
}

/** `spec.behavior` of a HorizontalPodAutoscaler, autoscaling/v2. */
export interface Behavior {
  readonly scaleUp: ScalingRules;
  readonly scaleDown: ScalingRules;
}

/** What Kubernetes uses when a HorizontalPodAutoscaler says nothing. */
export const KUBERNETES_DEFAULT_BEHAVIOR: Behavior = {
  scaleUp: {
    stabilizationWindowSeconds: 0,
    selectPolicy: "Max",
    policies: [
      { type: "Percent", value: 100, periodSeconds: 15 },
      { type: "Pods", value: 4, periodSeconds: 15 },
    ],
    tolerance: 0.1,
  },
  scaleDown: {
    stabilizationWindowSeconds: 300,
    selectPolicy: "Max",
    policies: [{ type: "Percent", value: 100, periodSeconds: 15 }],
    tolerance: 0.1,
  },
};

/** What docs/keda.md tells users to write for a scaler that answers with a number of replicas: up at once, down after 120 s. */
export const DOCUMENTED_BEHAVIOR: Behavior = {
  scaleUp: {
    ...KUBERNETES_DEFAULT_BEHAVIOR.scaleUp,
    policies: [
      { type: "Percent", value: 400, periodSeconds: 15 },
      { type: "Pods", value: 4, periodSeconds: 15 },
    ],
    tolerance: 0,
  },
  scaleDown: { ...KUBERNETES_DEFAULT_BEHAVIOR.scaleDown, stabilizationWindowSeconds: 120, tolerance: 0 },
};

/** A change of the replica count that was carried out. */
export interface ScaleEvent {
  readonly atMs: number;
  /** Positive when replicas were added. */
  readonly change: number;
}

/** Replicas as they were `periodSeconds` ago. */
const replicasBefore = (
  current: number,
  events: readonly ScaleEvent[],
  periodSeconds: number,
  nowMs: number,
): number =>
  events
    .filter(({ atMs }) => nowMs - atMs < periodSeconds * 1e3)
    .reduce((replicas, { change }) => replicas - change, current);

/** Most replicas that the scale-up policies allow now; kube-controller-manager's `calculateScaleUpLimitWithScalingRules`. */
export function scaleUpLimit(
  current: number,
  rules: ScalingRules,
  events: readonly ScaleEvent[],
  nowMs: number,
): number {
  if (rules.selectPolicy === "Disabled") return current;
  const limits = rules.policies.map(({ type, value, periodSeconds }) => {
    const atPeriodStart = replicasBefore(current, events, periodSeconds, nowMs);
    return type === "Pods" ? atPeriodStart + value : Math.ceil(atPeriodStart * (1 + value / 100));
  });
  return rules.selectPolicy === "Max" ? Math.max(...limits) : Math.min(...limits);
}

/** Fewest replicas that the scale-down policies allow now. */
export function scaleDownLimit(
  current: number,
  rules: ScalingRules,
  events: readonly ScaleEvent[],
  nowMs: number,
): number {
  if (rules.selectPolicy === "Disabled") return current;
  const limits = rules.policies.map(({ type, value, periodSeconds }) => {
    const atPeriodStart = replicasBefore(current, events, periodSeconds, nowMs);
    return type === "Pods" ? atPeriodStart - value : Math.trunc(atPeriodStart * (1 - value / 100));
  });
  return rules.selectPolicy === "Max" ? Math.min(...limits) : Math.max(...limits);
}
