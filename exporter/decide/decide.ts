import type { CalendarLimit } from "@tradewind/core/contract/calendar.ts";
import type { Allocation, ApplicationMode, Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { OverrideInForce } from "@tradewind/core/contract/override.ts";
import type { DecisionRecord, GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import { guard } from "./guard/guard.ts";
import type { GuardRefusal } from "./guard/guard.ts";
import type { GuardContext } from "./guard/step.ts";

/** What stays the same for all decisions of one exporter. */
export interface DecisionRules {
  /** Wall clock when the exporter started: tells its decisions from those of other exporters. */
  readonly exporterStartedAtMs: number;
  /** How long a decision may be served after its measurements were taken, s. */
  readonly staleAfterSeconds: number;
  readonly restartGraceSeconds: number;
  /** What the exporter itself allows a service of a plan. */
  readonly limitsOf: (plan: PlanHeader, wish: Wish) => GuardLimits;
  /** What calendars ask of a service at the time of the plan; absent: nothing. */
  readonly calendarsOf?: (plan: PlanHeader, wish: Wish) => CalendarLimit[];
  /** What is done with the decisions of a plan; absent: what the plan says. */
  readonly modeOf?: (plan: PlanHeader, namespace: string) => ApplicationMode;
}

/** The plan a wish belongs to. */
export type PlanHeader = Pick<
  Plan,
  "application" | "sequence" | "predictorStartedAtMs" | "plannedAtMs" | "mode"
>;

/**
 * What else a decision depends on. Times are the plan's: how long ago something was is measured on the exporter's monotonic
 * clock, and counted back from when the plan was made, so that no step of any clock makes it look older or younger.
 */
export interface DecisionPast {
  /** What counts while the application's configuration should be known and is not; absent where it is, or nothing is in force. */
  readonly kept?: KeptConfiguration;
  readonly exporterStartedAtMs: number;
  /** When plans of this predictor took the place of another's; absent while they have not. */
  readonly predictorTakenAtMs?: number;
  /** The decision before this one; absent when there is none, or when it is not known how old it is. */
  readonly previous?: {
    readonly final: Allocation;
    readonly decidedAtMs: number;
    /** Absent: act. */
    readonly mode?: ApplicationMode;
    /** Where the present period of the change limit began; absent: with this decision. */
    readonly periodStart?: NonNullable<DecisionRecord["context"]["periodStart"]>;
  };
}

/** What the decision in force read of the application's configuration. */
export type KeptConfiguration = Pick<DecisionRecord["context"], "approval" | "calendars" | "limits">;

/**
 * What is open for approval, what a harmful change is rolled back to, how many pods may go at once, and what a quota leaves the service where
 * it has no room for all.
 */
export type SharedContext = Pick<
  DecisionRecord["context"],
  "approval" | "brownout" | "disruptions" | "madeRoom" | "rollback" | "room"
>;

/** An override as it was ordered: what is done without it the decision adds. */
export type OrderedOverride = Omit<OverrideInForce, "mode">;

/** A wish that led to no decision. */
export interface Refusal extends GuardRefusal {
  readonly namespace: string;
  readonly service: string;
}

export type Decision =
  | { readonly record: DecisionRecord; readonly refusal?: never }
  | { readonly refusal: Refusal; readonly record?: never };

/**
 * All that the guard reads of a wish. The time of the decision is the time of the plan, not of its arrival, so that two
 * exporters that read the same plan at different moments decide the same.
 * @param shared what the decision reads of other services, of other decisions and of people
 */
export function contextOf(
  wish: Wish,
  plan: PlanHeader,
  past: DecisionPast,
  rules: DecisionRules,
  { override, ...shared }: SharedContext & { readonly override?: OrderedOverride | undefined } = {},
): GuardContext {
  const decidedAtMs = plan.plannedAtMs;
  const calendars =
    past.kept === undefined
      ? (rules.calendarsOf?.(plan, wish) ?? [])
      : (past.kept.calendars ?? []).filter(({ untilMs }) => untilMs > decidedAtMs);
  const { exporterStartedAtMs, predictorTakenAtMs } = past;
  // What KEDA is held still for is not carried out, so it is neither booked nor held against what came of it.
  const ownMode =
    wish.observed.scalingPaused !== undefined
      ? "observe"
      : (rules.modeOf?.(plan, wish.namespace) ?? plan.mode ?? "act");
  const mode = override?.kind === "pause" ? "observe" : ownMode;
  const previous = isStart(past, wish, mode) ? past.previous : undefined;
  return {
    wish,
    decidedAtMs,
    ...(previous === undefined
      ? {}
      : {
          previous: previous.final,
          previousDecidedAtMs: previous.decidedAtMs,
          ...(previous.periodStart && { periodStart: previous.periodStart }),
        }),
    exporterStartedAtMs,
    predictorStartedAtMs: plan.predictorStartedAtMs,
    ...(predictorTakenAtMs !== undefined && { predictorTakenAtMs }),
    staleAfterSeconds: rules.staleAfterSeconds,
    restartGraceSeconds: rules.restartGraceSeconds,
    mode,
    limits: limitsOf(plan, wish, past, rules),
    ...(calendars.length > 0 && { calendars }),
    ...shared,
    ...(override && { override: { ...override, mode: ownMode } }),
  };
}

/** Takes the steps of the guard, and writes down what they read and did. */
export function decide(guardContext: GuardContext, plan: PlanHeader, rules: DecisionRules): Decision {
  const { decidedAtMs, wish, ...context } = guardContext;
  const { namespace, service } = wish;
  const { actions, final, refusal } = guard(guardContext);
  if (refusal !== undefined) return { refusal: { namespace, service, ...refusal } };
  return {
    record: {
      id: decisionId(wish, plan, rules),
      application: plan.application,
      namespace,
      service,
      decidedAtMs,
      validUntilMs: validUntilMs(guardContext, rules.staleAfterSeconds),
      wish,
      context,
      actions,
      final,
    },
  };
}

/**
 * The same decision with another override, or without one.
 * @returns undefined where nothing can be decided without it; the decision then stays until its time is up
 */
export function decideAgain(
  record: DecisionRecord,
  override: OrderedOverride | undefined,
  { staleAfterSeconds }: Pick<DecisionRules, "staleAfterSeconds">,
): DecisionRecord | undefined {
  const { decidedAtMs, id, wish } = record;
  const { override: before, ...rest } = record.context;
  const ownMode = before?.mode ?? rest.mode ?? "act";
  const context: DecisionRecord["context"] = {
    ...rest,
    mode: override?.kind === "pause" ? "observe" : ownMode,
    ...(override && { override: { ...override, mode: ownMode } }),
  };
  const guardContext = { ...context, wish, decidedAtMs };
  const { actions, final } = guard(guardContext);
  if (final === undefined) return undefined;
  const [time = ""] = id.split("-");
  return {
    ...record,
    id: `${time}-${contentHash([id, override?.id ?? ""])}`,
    validUntilMs: validUntilMs(guardContext, staleAfterSeconds),
    context,
    actions,
    final,
  };
}

/** Bounds of a configuration that is not known now stay as the decision in force had them; how far one decision goes is a setting. */
function limitsOf(plan: PlanHeader, wish: Wish, { kept }: DecisionPast, rules: DecisionRules): GuardLimits {
  const now = rules.limitsOf(plan, wish);
  if (kept?.limits?.source !== "application") return now;
  const { growRatio, growReplicas, shrinkRatio } = now;
  return { ...kept.limits, growRatio, growReplicas, shrinkRatio };
}

/**
 * Whether the decision starts from the previous one. KEDA has seen that one only in mode act. In the other modes it counts where the running
 * replicas are unknown, since nothing is carried out.
 */
function isStart({ previous }: DecisionPast, { observed }: Wish, mode: ApplicationMode): boolean {
  const isUnknown = (observed.replicasWanted ?? observed.replicasReady) === undefined;
  return (previous?.mode ?? "act") === "act" || (mode !== "act" && isUnknown);
}

/**
 * A decision lives as long as its measurements are fresh: counted from the end of their window, which may lie a window before the plan. What a
 * person holds or pauses needs no measurement.
 */
function validUntilMs({ decidedAtMs, override, wish }: GuardContext, staleAfterSeconds: number): number {
  const freshMs = Math.min(wish.inputs.windowEndMs, decidedAtMs) + staleAfterSeconds * 1e3;
  return override === undefined || override.kind === "floor" ? freshMs : Math.max(freshMs, override.endsAtMs);
}

/** Sorts by time, and differs between exporters, because their records differ. */
function decisionId(wish: Wish, plan: PlanHeader, rules: DecisionRules): string {
  const { sequence, predictorStartedAtMs, plannedAtMs } = plan;
  const what = [wish.namespace, wish.service, sequence, predictorStartedAtMs, rules.exporterStartedAtMs];
  return `${Math.trunc(plannedAtMs).toString(36).padStart(9, "0")}-${contentHash(what)}`;
}
