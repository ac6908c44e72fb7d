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

/** What one metric asks for. */
export interface Proposal {
  readonly replicas: number;
  /** The tolerance kept the current number, where the metric alone asks for another one. */
  readonly isHeld: boolean;
}

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

/** Whether a metric lies so near to its target that nothing moves: usage over target in [1 - down, 1 + up]. */
export function isWithinTolerance(ratio: number, { scaleDown, scaleUp }: Behavior): boolean {
  return ratio >= 1 - scaleDown.tolerance && ratio <= 1 + scaleUp.tolerance;
}

/**
 * Replicas that one metric asks for: `ceil(usage / target)`, or the current number while
 * `usage / (target · current)` lies within the tolerance. Undefined when the metric could not be read or is no number.
 */
export function proposeReplicas(
  metric: ExternalMetric | undefined,
  current: number,
  behavior: Behavior,
): Proposal | undefined {
  if (metric === undefined || !Number.isFinite(metric.usage) || !(metric.targetAverageValue > 0)) {
    return undefined;
  }
  const wanted = Math.ceil(metric.usage / metric.targetAverageValue);
  const isWithin = isWithinTolerance(metric.usage / (metric.targetAverageValue * current), behavior);
  return isWithin ? { replicas: current, isHeld: wanted !== current } : { replicas: wanted, isHeld: false };
}

/**
 * The largest proposal counts. Undefined when there is none, and when one is missing while the others ask for fewer
 * replicas: what could not be read might ask for more.
 */
function largestProposal(
  proposals: readonly (Proposal | undefined)[],
  current: number,
): Proposal | undefined {
  const read = proposals.filter((each) => each !== undefined);
  const [largest] = read.toSorted((a, b) => b.replicas - a.replicas);
  const isShrinking = largest !== undefined && largest.replicas < current;
  return read.length < proposals.length && isShrinking ? undefined : largest;
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
  past: HpaMemory["proposals"],
  nowMs: number,
): { readonly replicas: number; readonly reason: HpaReason } {
  const replicasWithin = (windowSeconds: number): readonly number[] =>
    within(past, windowSeconds, nowMs).map(({ replicas }) => replicas);
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
 * @param proposals one for each metric of its spec, undefined for one that could not be read
 * @param current `spec.replicas` of the scale target; 0 switches the autoscaler off
 */
export function syncHpa(
  spec: HpaSpec,
  proposals: readonly (Proposal | undefined)[],
  current: number,
  memory: HpaMemory,
  nowMs: number,
): HpaDecision {
  if (current === 0) return { replicas: 0, reason: "scaling disabled", memory };
  if (current > spec.maxReplicas) return { replicas: spec.maxReplicas, reason: "at maximum", memory };
  if (current < spec.minReplicas) return { replicas: spec.minReplicas, reason: "at minimum", memory };
  const largest = largestProposal(proposals, current);
  if (largest === undefined) return { replicas: current, reason: "metric failed", memory };

  const { behavior } = spec;
  const { isHeld, replicas: proposed } = largest;
  // The controller begins with the current number as if that had been proposed: a new one does not scale down at once.
  const past = memory.proposals.length > 0 ? memory.proposals : [{ atMs: nowMs, replicas: current }];
  const stabilised = stabilise(current, proposed, behavior, past, nowMs);
  const limited = limit(current, stabilised.replicas, spec, memory.events, nowMs);
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
      proposals: [...within(past, window, nowMs), { atMs: nowMs, replicas: proposed }],
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
