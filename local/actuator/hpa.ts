import { scaleDownLimit, scaleUpLimit } from "./behavior.ts";
import type { Behavior, ScaleEvent } from "./behavior.ts";

/** The part of a HorizontalPodAutoscaler's spec that decides. */
export interface HpaSpec {
  readonly minReplicas: number;
  readonly maxReplicas: number;
  readonly behavior: Behavior;
}

/** An External metric with an AverageValue target, as read in one sync. */
export interface ExternalMetric {
  /** Values of all series, summed. */
  readonly usage: number;
  readonly targetAverageValue: number;
}

/** What the controller remembers between syncs. */
export interface HpaMemory {
  /** Raw proposals, oldest first, as far back as the longer stabilisation window. */
  readonly proposals: readonly { readonly atMs: number; readonly replicas: number }[];
  /** Carried-out changes, oldest first, as far back as the longest policy period. */
  readonly events: readonly ScaleEvent[];
}

export const EMPTY_MEMORY: HpaMemory = { proposals: [], events: [] };

export type HpaReason =
  | "desired"
  | "within tolerance"
  | "scale-up stabilised"
  | "scale-down stabilised"
  | "scale-up limited"
  | "scale-down limited"
  | "at minimum"
  | "at maximum"
  | "metric failed"
  | "scaling disabled";

export interface HpaDecision {
  readonly replicas: number;
  readonly reason: HpaReason;
  readonly memory: HpaMemory;
}

/**
 * Replicas that one metric asks for: `ceil(usage / target)`, or the current number while
 * `usage / (target · current)` lies within [1 - tolerance down, 1 + tolerance up].
 */
export function proposeReplicas(metric: ExternalMetric, current: number, behavior: Behavior): number {
  const ratio = metric.usage / (metric.targetAverageValue * current);
  const isWithin = ratio >= 1 - behavior.scaleDown.tolerance && ratio <= 1 + behavior.scaleUp.tolerance;
  return isWithin ? current : Math.ceil(metric.usage / metric.targetAverageValue);
}

function within<T extends { readonly atMs: number }>(
  items: readonly T[],
  windowSeconds: number,
  nowMs: number,
): readonly T[] {
  return items.filter(({ atMs }) => nowMs - atMs < windowSeconds * 1e3);
}

/** Going up waits for the lowest proposal of its window, going down for the highest of its own. */
function stabilise(
  current: number,
  proposed: number,
  behavior: Behavior,
  memory: HpaMemory,
  nowMs: number,
): { readonly replicas: number; readonly reason: HpaReason } {
  const replicasWithin = (windowSeconds: number): readonly number[] =>
    within(memory.proposals, windowSeconds, nowMs).map(({ replicas }) => replicas);
  const upTo = Math.min(proposed, ...replicasWithin(behavior.scaleUp.stabilizationWindowSeconds));
  const downTo = Math.max(proposed, ...replicasWithin(behavior.scaleDown.stabilizationWindowSeconds));
  const replicas = Math.max(Math.min(current, downTo), upTo);
  if (replicas === proposed) return { replicas, reason: "desired" };
  return { replicas, reason: proposed > replicas ? "scale-up stabilised" : "scale-down stabilised" };
}

function limit(
  current: number,
  stabilised: number,
  spec: HpaSpec,
  events: readonly ScaleEvent[],
  nowMs: number,
): { readonly replicas: number; readonly reason: HpaReason } | undefined {
  const { behavior, minReplicas, maxReplicas } = spec;
  if (stabilised > current) {
    // Never takes back what is running already, even when the policies' budget has been overdrawn.
    const allowed = Math.max(current, scaleUpLimit(current, behavior.scaleUp, events, nowMs));
    if (stabilised > Math.min(allowed, maxReplicas)) {
      return allowed < maxReplicas
        ? { replicas: allowed, reason: "scale-up limited" }
        : { replicas: maxReplicas, reason: "at maximum" };
    }
  } else if (stabilised < current) {
    const allowed = Math.min(current, scaleDownLimit(current, behavior.scaleDown, events, nowMs));
    if (stabilised < Math.max(allowed, minReplicas)) {
      return allowed > minReplicas
        ? { replicas: allowed, reason: "scale-down limited" }
        : { replicas: minReplicas, reason: "at minimum" };
    }
  }
  return undefined;
}

/**
 * One sync of the HorizontalPodAutoscaler controller.
 * @param metric undefined when it could not be read: replicas stay as they are
 * @param current `spec.replicas` of the scale target; 0 switches the autoscaler off
 */
export function syncHpa(
  spec: HpaSpec,
  metric: ExternalMetric | undefined,
  current: number,
  memory: HpaMemory,
  nowMs: number,
): HpaDecision {
  if (current === 0) return { replicas: 0, reason: "scaling disabled", memory };
  if (current > spec.maxReplicas) return { replicas: spec.maxReplicas, reason: "at maximum", memory };
  if (current < spec.minReplicas) return { replicas: spec.minReplicas, reason: "at minimum", memory };
  if (metric === undefined || !Number.isFinite(metric.usage) || !(metric.targetAverageValue > 0)) {
    return { replicas: current, reason: "metric failed", memory };
  }

  const { behavior } = spec;
  const proposed = proposeReplicas(metric, current, behavior);
  const stabilised = stabilise(current, proposed, behavior, memory, nowMs);
  const limited = limit(current, stabilised.replicas, spec, memory.events, nowMs);
  const isHeld = proposed === current && Math.ceil(metric.usage / metric.targetAverageValue) !== current;
  const window = Math.max(
    behavior.scaleUp.stabilizationWindowSeconds,
    behavior.scaleDown.stabilizationWindowSeconds,
  );
  return {
    replicas: limited?.replicas ?? stabilised.replicas,
    reason:
      limited?.reason ?? (isHeld && stabilised.reason === "desired" ? "within tolerance" : stabilised.reason),
    memory: {
      ...memory,
      proposals: [...within(memory.proposals, window, nowMs), { atMs: nowMs, replicas: proposed }],
    },
  };
}

/** Remembers a change that was carried out. */
export function remember(memory: HpaMemory, event: ScaleEvent, behavior: Behavior): HpaMemory {
  const periods = [...behavior.scaleUp.policies, ...behavior.scaleDown.policies].map(
    (each) => each.periodSeconds,
  );
  return { ...memory, events: [...within(memory.events, Math.max(...periods), event.atMs), event] };
}
