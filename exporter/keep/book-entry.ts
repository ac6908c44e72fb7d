import type { OverrideInForce } from "@tradewind/core/contract/override.ts";
import type { Allocation, ApplicationMode, Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type {
  Brownout,
  DecisionRecord,
  Recommendation,
  Rollback,
  ServedRecommendation,
} from "@tradewind/core/contract/recommendation.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { sizesBefore } from "./decision-reason.ts";
import { inOneByte } from "./one-byte.ts";
import { answeredReplicas, recommendationOf, whyUnanswered } from "./recommendation.ts";

/**
 * The decision in force for one service, small enough that thousands fit: what is served, ready to serve, and the
 * whole record as JSON, which goes to disk and out by HTTP as it is.
 */
export interface BookEntry {
  /** When it was decided, on our monotonic clock; undefined when that is not known. */
  readonly decidedMs: number | undefined;
  readonly recommendation: Recommendation;
  readonly final: Allocation;
  /** Replicas that KEDA is answered; undefined where no number is safe. */
  readonly answered: number | undefined;
  /** Why it is answered nothing; absent where it is answered. */
  readonly unanswered?: Reason;
  readonly wished: Allocation;
  /** Replicas decided before a quota cut them, those that run, and the measured latency over the objective; for {@link sharesOf}. */
  readonly asked: number;
  readonly running: number | undefined;
  readonly severity: number;
  /** Latency over objective of the worst route through the service, 0 without one; undefined where it is not known. */
  readonly routeSeverity: number | undefined;
  /** The service is kept at its minimum for another one. */
  readonly brownout: Brownout | undefined;
  /** What is kept after a change that did harm. */
  readonly rollback: Rollback | undefined;
  /** What the guard read of the decision before and of the application's configuration, and of whose plan. */
  readonly basis: Pick<
    DecisionRecord["context"],
    | "approval"
    | "calendars"
    | "limits"
    | "periodStart"
    | "predictorStartedAtMs"
    | "previous"
    | "previousDecidedAtMs"
  >;
  /** When the plan was made that a decision of a silence goes on from, on that plan's clock; undefined for a plan's own decision. */
  readonly silentSincePlanMs: number | undefined;
  /** What is done with the decision. */
  readonly mode: ApplicationMode;
  /** What ran before, as far as the record says. */
  readonly observed: Partial<Allocation>;
  /** What a person ordered in the place of the plan. */
  readonly override: OverrideInForce | undefined;
  readonly guard: ServedRecommendation["guard"];
  readonly json: string;
}

/** A service beside the others of its namespace: what it asks for, what runs of it, and its latency. */
export type ServiceNeed = Pick<BookEntry, "asked" | "mode" | "routeSeverity" | "running" | "severity"> & {
  readonly recommendation: Pick<Recommendation, "application" | "namespace" | "service">;
};

/** Names a service; neither part can hold a line break. */
export const bookKey = (namespace: string, service: string): string => `${namespace}\n${service}`;

/** A time that was converted from one clock to the other and back differs by less than this. ms */
const CLOCK_ROUNDING_MS = 1;

/** Whether the decision is of this very plan, which predictors give again after a failed poll or a restart of the scaler. */
export const isOfPlan = (
  { basis, recommendation }: BookEntry,
  { plannedAtMs, predictorStartedAtMs }: Pick<Plan, "plannedAtMs" | "predictorStartedAtMs">,
): boolean =>
  recommendation.decidedAtMs === plannedAtMs && basis.predictorStartedAtMs === predictorStartedAtMs;

/** Whether the decision is of the silence that followed this very plan: the plan, where it is given again, is older. */
export const isOfSilenceAfter = (
  { basis, silentSincePlanMs }: BookEntry,
  { plannedAtMs, predictorStartedAtMs }: Pick<Plan, "plannedAtMs" | "predictorStartedAtMs">,
): boolean =>
  silentSincePlanMs !== undefined &&
  Math.abs(silentSincePlanMs - plannedAtMs) < CLOCK_ROUNDING_MS &&
  basis.predictorStartedAtMs === predictorStartedAtMs;

export function bookEntry(record: DecisionRecord, decidedMs: number | undefined): BookEntry {
  const { approval, calendars, limits, periodStart, predictorStartedAtMs, previous, previousDecidedAtMs } =
    record.context;
  return {
    decidedMs,
    recommendation: recommendationOf(record),
    final: record.final,
    ...answerOf(record),
    wished: record.wish.allocation,
    asked: record.actions.find(({ step }) => step === "room")?.before.replicas ?? record.final.replicas,
    ...measuredOf(record.wish),
    brownout: record.context.brownout,
    observed: sizesBefore(record),
    rollback: record.context.rollback,
    basis: {
      ...(approval && { approval }),
      ...(calendars && { calendars }),
      ...(limits && { limits }),
      ...(periodStart && { periodStart }),
      ...(predictorStartedAtMs !== undefined && { predictorStartedAtMs }),
      ...(previous && { previous }),
      ...(previousDecidedAtMs !== undefined && { previousDecidedAtMs }),
    },
    silentSincePlanMs: record.wish.evidence["plannedAtMs"],
    mode: record.context.mode ?? "act",
    override: record.context.override,
    guard: record.actions.map(({ step, reason, reasons }) => ({ step, reason, reasons })),
    json: inOneByte(JSON.stringify(record)),
  };
}

/** What a wish says of what runs, and of its latency. */
export const measuredOf = ({
  evidence,
  observed,
}: Wish): Pick<BookEntry, "routeSeverity" | "running" | "severity"> => ({
  running: observed.replicasWanted ?? observed.replicasReady,
  severity: evidence["tailOverObjective"] ?? 0,
  routeSeverity: observed.complete ? (evidence["routeOverObjective"] ?? 0) : undefined,
});

function answerOf(record: DecisionRecord): Pick<BookEntry, "answered" | "unanswered"> {
  const answered = answeredReplicas(record);
  return answered === undefined ? { answered, unanswered: whyUnanswered(record) } : { answered };
}

/** The same of an entry. */
export const entryKey = ({ recommendation }: BookEntry): string =>
  bookKey(recommendation.namespace, recommendation.service);
