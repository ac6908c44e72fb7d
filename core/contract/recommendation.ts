import { z } from "zod";
import { ApprovalContext } from "./change.ts";
import { CalendarLimit } from "./calendar.ts";
import { OverrideInForce } from "./override.ts";
import { Pattern } from "./pattern.ts";
import {
  Allocation,
  APPLICATION_MODES,
  Bounds,
  MOST_PLAN_PATTERNS,
  PlanCause,
  PlanDisruptions,
  PolicyLabel,
  Wish,
  Unmapped,
} from "./plan.ts";
import {
  Count,
  DecisionId,
  EpochMs,
  LatencyObjective,
  NonNegative,
  ObjectName,
  Ratio,
  ServiceName,
  orAbsent,
} from "./quantity.ts";
import { Reasons } from "./reason.ts";

/** One guard step that changed the allocation, or refused to. */
export const GuardAction = z.strictObject({
  step: z.string().min(1).max(64),
  before: Allocation,
  after: Allocation,
  reason: z.string().max(500),
  reasons: Reasons,
});
export type GuardAction = z.infer<typeof GuardAction>;

/** What an exporter allows by its own configuration, whatever a plan says. */
export const GuardLimits = z.strictObject({
  /** `application`: its configuration says so; `settings`: the exporter's defaults for services that it does not know. */
  source: z.string().min(1).max(32),
  minReplicas: Count,
  maxReplicas: Count,
  /** Absent where only the plan tells how large a container may be. */
  container: Bounds.omit({ minReplicas: true, maxReplicas: true }).optional(),
  /** One decision, and all of 12 s together, makes at most `growRatio` times as many replicas and `growReplicas` more. */
  growRatio: z.number().min(1),
  growReplicas: Count,
  /** One decision, and all of 12 s together, leaves at least this share of the replicas. */
  shrinkRatio: Ratio,
});
export type GuardLimits = z.infer<typeof GuardLimits>;

export const Rival = z.strictObject({ application: ObjectName, service: ServiceName, priority: z.number() });

/** What a quota of the namespace, and the services that share it, leave a service that is to grow. */
export const RoomShare = z.strictObject({
  quota: ObjectName,
  /** Absent where it has all that it asked for. */
  mostReplicas: Count.optional(),
  /** Those that were given theirs first, and those that went without. */
  ahead: z.array(Rival).max(5),
  behind: z.array(Rival).max(5).optional(),
});
export type RoomShare = z.infer<typeof RoomShare>;

/** An optional service is kept at its minimum, to make room for one that comes before it. */
export const Brownout = z.strictObject({
  for: Rival,
  /** That had no room; absent where no node had. */
  quota: ObjectName.optional(),
  sinceMs: EpochMs,
});
export type Brownout = z.infer<typeof Brownout>;

/** What is kept of a service after a change that did harm. */
export const Rollback = z.strictObject({
  before: Allocation.partial(),
  /** How many changes of the service did harm within a day. */
  times: Count,
  untilMs: EpochMs,
});
export type Rollback = z.infer<typeof Rollback>;

/** Everything that went into one recommendation: replaying it gives the same numbers bit for bit. */
export const DecisionRecord = z.strictObject({
  id: DecisionId,
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName,
  decidedAtMs: EpochMs,
  validUntilMs: EpochMs,
  wish: Wish,
  /** Everything else the guard read. Times are on the clock of the plan. */
  context: z.strictObject({
    previous: Allocation.optional(),
    previousDecidedAtMs: EpochMs.optional(),
    /** The decision in force when the present period of the change limit began; absent: `previous`. */
    periodStart: z.strictObject({ final: Allocation, sinceMs: EpochMs }).optional(),
    exporterStartedAtMs: EpochMs,
    predictorStartedAtMs: EpochMs.optional(),
    /** When this predictor's plans took the place of another's; absent while the exporter has followed no other. */
    predictorTakenAtMs: EpochMs.optional(),
    staleAfterSeconds: z.number().positive(),
    restartGraceSeconds: NonNegative,
    /** What is done with the decision; absent in records of 0.1.0, which were acted on. */
    mode: z.enum(APPLICATION_MODES).optional(),
    /** Absent in records of 0.1.0, whose guard took the bounds of the wish. */
    limits: GuardLimits.optional(),
    /** What calendars ask for; absent: nothing. */
    calendars: z.array(CalendarLimit).max(100).optional(),
    /** Absent where every service of the namespace finds room. */
    room: RoomShare.optional(),
    /** Absent where no PodDisruptionBudget is known. */
    disruptions: PlanDisruptions.omit({ service: true }).optional(),
    /** Absent where the service is not kept at its minimum for another one. */
    brownout: Brownout.optional(),
    /** Optional services that are kept at their minimum for this one; absent where none is. */
    madeRoom: z
      .array(Rival.omit({ priority: true }))
      .max(5)
      .optional(),
    /** Absent where no change did harm lately. */
    rollback: Rollback.optional(),
    /** Absent where changes need no approval. */
    approval: ApprovalContext.optional(),
    /** Absent where nobody overrides the plan. */
    override: OverrideInForce.optional(),
  }),
  actions: z.array(GuardAction).max(64),
  final: Allocation,
});
export type DecisionRecord = z.infer<typeof DecisionRecord>;

/** What Tradewind recommends for one service now. */
export const Recommendation = z.strictObject({
  namespace: ObjectName,
  application: ObjectName,
  service: ServiceName,
  replicas: Count,
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
  /** Sizes that are advice: the decision does not count on them and nothing moves them. Absent: none is. */
  advised: z
    .array(z.enum(["cpu", "memory"]))
    .max(2)
    .optional(),
  policy: PolicyLabel,
  confidence: Ratio,
  latencyBeforeSeconds: NonNegative.optional(),
  latencyAfterSeconds: NonNegative.optional(),
  /**
   * How the self time of the last windows compared with what was predicted before each: means of |ln(measured / predicted)| and of
   * ln(measured / predicted), and the share of windows within the interval that should hold 0.8 of them.
   */
  prediction: z
    .strictObject({ errorRatio: NonNegative, biasRatio: z.number(), coverageRatio: Ratio })
    .optional(),
  /** What the platform ran when this was decided, and the size of each container: its limit, else its request. */
  replicasReady: Count.optional(),
  runningCpuCores: z.number().positive().optional(),
  runningMemoryBytes: z.number().positive().optional(),
  /** Fewest and most replicas the service may have. */
  minReplicas: Count.optional(),
  maxReplicas: Count.optional(),
  reason: z.string().max(1_000),
  /** Of the proposal, then of the guard steps. */
  reasons: Reasons,
  decidedAtMs: EpochMs,
  validUntilMs: EpochMs,
  decisionId: DecisionId,
});
export type Recommendation = z.infer<typeof Recommendation>;

/** The sizes of a service that a decision sets. */
export const SIZES = ["replicas", "cpuCores", "memoryBytes"] as const;

/** The decision that made one size of a service what it is. Later ones that kept the size do not count. */
export const SizeChange = z.strictObject({
  /** The size before, cores and bytes of each container; absent where none is known, or where it was the same. */
  from: NonNegative.optional(),
  to: NonNegative,
  decidedAtMs: EpochMs,
  decisionId: DecisionId,
  policy: PolicyLabel,
  /** Why, in the words of that decision. */
  reason: z.string().max(1_000),
  reasons: Reasons,
});
export type SizeChange = z.infer<typeof SizeChange>;

/** Absent for a size that no decision states. */
export const SizeChanges = z.strictObject({
  replicas: SizeChange.optional(),
  cpuCores: SizeChange.optional(),
  memoryBytes: SizeChange.optional(),
});
export type SizeChanges = z.infer<typeof SizeChanges>;

/** A recommendation as the exporter serves it, with what a reader needs to judge it. */
export const ServedRecommendation = z.strictObject({
  ...Recommendation.shape,
  /** Time since the decision, by the exporter's monotonic clock; absent when it is not known. */
  ageSeconds: NonNegative.optional(),
  /** False once its time is up by the same clock: KEDA is then answered UNAVAILABLE. */
  valid: z.boolean(),
  /** What the policy asked for before the guard. */
  wished: Allocation,
  /** Absent where nobody overrides the plan. */
  override: OverrideInForce.optional(),
  /** Which decision set each of the sizes, and why; absent from exporters of earlier releases. */
  setBy: SizeChanges.optional(),
  /** Guard steps that changed it, in order. */
  guard: z.array(GuardAction.pick({ step: true, reason: true, reasons: true })).max(64),
  /** Why the newest wish led to no decision; the one shown is then an older one. */
  refused: z.string().max(1_000).optional(),
  refusedReasons: Reasons,
});
export type ServedRecommendation = z.infer<typeof ServedRecommendation>;

export const RECOMMENDATIONS_SCHEMA = "tradewind.dev/recommendations/v1";

/** What recommendations that were not carried out would have changed, since this exporter began to count. */
export const RegretReport = z.strictObject({
  sinceMs: EpochMs,
  /** Price, in the application's currency, of what ran and was not recommended, and of what was recommended and did not run. */
  savedCost: NonNegative,
  addedCost: NonNegative,
  /** Time in which the objective was missed while more was recommended than ran. */
  missedSeconds: NonNegative,
  /** Time that was counted: with the application in another mode than act. */
  observedSeconds: NonNegative,
});
export type RegretReport = z.infer<typeof RegretReport>;

/** The newest plan of an application as the exporter has it. */
const NewestPlan = z.strictObject({
  lastPlanAtMs: EpochMs.optional(),
  /** Time since it was made, by the exporter's monotonic clock. */
  lastPlanAgeSeconds: NonNegative.optional(),
  /** Time since a predictor last answered, by the same clock; absent while it answers. */
  silentSeconds: orAbsent(NonNegative),
  policy: PolicyLabel.optional(),
  policyReason: z.string().max(500).optional(),
  policyReasons: Reasons,
});

/** How an application stands, and what is done with its recommendations. */
const Standing = z.strictObject({
  mode: z.enum(APPLICATION_MODES).optional(),
  objective: LatencyObjective.optional(),
  measuredLatencySeconds: NonNegative.optional(),
  failedRatio: orAbsent(Ratio),
  /** In the last window: its slowest route, all its requests, and what the models do not explain. */
  standing: orAbsent(z.string().max(1_000)),
  /** Absent in mode act. */
  regret: RegretReport.optional(),
  /** What the missed objective is put down to; absent where it is met, or no cause is named. */
  cause: orAbsent(PlanCause),
  patterns: orAbsent(z.array(Pattern).max(MOST_PLAN_PATTERNS)),
  unmapped: orAbsent(Unmapped),
});

/** One of several applications as the exporter sees it. */
export const ServedApplication = z.strictObject({
  namespace: ObjectName,
  name: ObjectName,
  /** What stands in the way of a new plan of it. */
  problem: z.string().max(1_000).optional(),
  ...NewestPlan.shape,
  ...Standing.shape,
});
export type ServedApplication = z.infer<typeof ServedApplication>;

/** Everything Tradewind recommends now: `GET /v1/recommendations` of the exporter. */
export const RecommendationList = z.strictObject({
  schema: z.literal(RECOMMENDATIONS_SCHEMA),
  servedAtMs: EpochMs,
  /** The predictor as the exporter sees it. */
  predictor: z.strictObject({
    /** False when the last poll failed. */
    reachable: z.boolean(),
    problem: z.string().max(1_000).optional(),
    ...NewestPlan.shape,
  }),
  /** The only one, and its namespace; absent where there are several. */
  application: ObjectName.optional(),
  namespace: ObjectName.optional(),
  /** Where there are several; what follows is then said of each of them. */
  applications: z.array(ServedApplication).max(1_000).optional(),
  /** What is done with the recommendations. */
  ...Standing.shape,
  recommendations: z.array(ServedRecommendation).max(20_000),
});
export type RecommendationList = z.infer<typeof RecommendationList>;
