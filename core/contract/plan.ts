import { z } from "zod";
import { LearnedCalendar } from "./calendar.ts";
import { Pattern } from "./pattern.ts";
import {
  ChangeId,
  ContentHash,
  Count,
  EpochMs,
  LatencyObjective,
  NonNegative,
  ObjectName,
  Ratio,
  ServiceName,
  orAbsent,
  patternedText,
} from "./quantity.ts";
import { Reasons } from "./reason.ts";
import { QuotaAmounts, ScalingPause } from "./workload.ts";

/** The levels of the ladder, from least to most evidence; `students` act when the predictor is silent. */
export const POLICIES = [
  "hold",
  "static",
  "reactive",
  "queue",
  "planner-prior",
  "planner",
  "students",
] as const;
/** What this release writes. */
export type PolicyName = (typeof POLICIES)[number];
/** What is read: another release may know further names, which are shown and change nothing. */
export const PolicyLabel = patternedText(63, /^[a-z0-9][a-z0-9-]{0,62}$/);

/** A size of a service: how many replicas, and what each container gets. Absent parts are left as they are. */
export const Allocation = z.strictObject({
  replicas: Count,
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
});
export type Allocation = z.infer<typeof Allocation>;

/** What one container gets. Absent parts are not known, or are left as they are. */
export const ContainerSize = Allocation.omit({ replicas: true });
export type ContainerSize = z.infer<typeof ContainerSize>;

/** What one container of a service is given, and how many there are: the three things a plan may change. */
export const PLAN_RESOURCES = ["cpu", "memory", "replicas"] as const;

/** Who asked for a change that no plan makes, and what the live models expect of it: the tail of the slowest route, seconds. */
export const AskedFor = z.strictObject({
  /** The model's name, or the token that sent a proposal. */
  by: z.string().min(1).max(200),
  tailBeforeSeconds: NonNegative,
  tailAfterSeconds: NonNegative,
});

/** A change that somebody asks for and the live models expect to help. */
export const AskedChange = z.strictObject({
  /** The same in each plan that names it. */
  id: ChangeId,
  service: ServiceName,
  resource: z.enum(PLAN_RESOURCES),
  from: NonNegative,
  to: NonNegative,
  asked: AskedFor,
  /** Of the predictor's own language model: where the application says `reasoner: act` no person is asked about a small one. */
  isOfModel: z.boolean(),
  notBeforeMs: EpochMs.optional(),
});
export type AskedChange = z.infer<typeof AskedChange>;
export const MOST_ASKED_CHANGES = 64;

/** One step of a plan for one service: what is changed, why, what that buys and what it costs. */
export const WishStep = z.object({
  /** Place among the steps of the whole plan, from 1. */
  order: z.number().int().positive(),
  resource: z.enum(PLAN_RESOURCES),
  direction: z.enum(["up", "down"]),
  /** Cores or bytes of each container, or the number of replicas. */
  from: NonNegative,
  to: NonNegative,
  why: z.string().max(200),
  /** Predicted latency of the slowest flow before and after it. */
  tailBeforeSeconds: NonNegative,
  tailAfterSeconds: NonNegative,
  /** Change of the price of the application, in its own currency; negative when saved. */
  costPerHour: z.number(),
});
export type WishStep = z.infer<typeof WishStep>;

/** Most steps that a wish lists; later ones are summed up in the last. */
export const MAX_WISH_STEPS = 32;

/** How small and how large a service may be. */
export const Bounds = z.strictObject({
  minReplicas: Count,
  maxReplicas: Count,
  cpuMinCores: z.number().positive(),
  cpuMaxCores: z.number().positive(),
  memoryMinBytes: z.number().positive(),
  memoryMaxBytes: z.number().positive(),
  /** Sizes are multiples of these; absent means any size. */
  cpuStepCores: z.number().positive().optional(),
  memoryStepBytes: z.number().positive().optional(),
});
export type Bounds = z.infer<typeof Bounds>;

/** A workload by its name, by which those of its pods begin. */
export const WishWorkload = z.object({
  name: ObjectName,
  /** The container whose size is decided on; absent: the only one. */
  container: z.string().min(1).max(253).optional(),
});
export type WishWorkload = z.infer<typeof WishWorkload>;

/** What a policy would like for one service, before the guard. */
export const Wish = z.strictObject({
  namespace: ObjectName,
  service: ServiceName,
  allocation: Allocation,
  /**
   * Sizes for people, of parts that the allocation leaves as they are: the decision does not count on them and nothing moves
   * them. Absent where the use of a service is not known.
   */
  advice: orAbsent(ContainerSize),
  policy: PolicyLabel,
  /** Plain words: why this and not something else. */
  reason: z.string().max(500),
  reasons: Reasons,
  confidence: Ratio,
  /** p95 of the application's flows through this service, now and as predicted after the move. */
  latencyBeforeSeconds: NonNegative.optional(),
  latencyAfterSeconds: NonNegative.optional(),
  /** The steps that led to the allocation, where models chose it. */
  steps: orAbsent(z.array(WishStep).max(MAX_WISH_STEPS)),
  /** Numbers the policy used, by name: what a replay must come to again. */
  evidence: z.record(z.string().max(64), z.number()),
  inputs: z.strictObject({
    windowHash: ContentHash,
    windowEndMs: EpochMs,
    modelHash: ContentHash.optional(),
  }),
  observed: z.strictObject({
    replicasReady: Count.optional(),
    replicasWanted: Count.optional(),
    /** The autoscaler in charge is held still, so nothing that is recommended is carried out. */
    scalingPaused: ScalingPause.optional(),
    lastStartedAtMs: EpochMs.optional(),
    /** Size of each container that runs: its limit, else its request. Absent where neither is set or known. */
    cpuCores: orAbsent(z.number().positive()),
    memoryBytes: orAbsent(z.number().positive()),
    /** False when latency, load or replicas were missing in the window. */
    complete: z.boolean(),
  }),
  /** What the policy kept to. The guard of an exporter has bounds of its own. */
  bounds: Bounds,
  /** What runs the service, so that a scaler finds its pods without the predictor; absent where the predictor does not know. */
  workloads: orAbsent(z.array(WishWorkload).max(8)),
});
export type Wish = z.infer<typeof Wish>;

/**
 * What is done with recommendations. `observe`: nothing; KEDA gets the current replica count, and VPAs, events and resizes are silent.
 * `recommend`: the same, but events and VPAs that apply nothing show them. `act`: KEDA, VPAs and resizes carry them out.
 */
export const APPLICATION_MODES = ["observe", "recommend", "act"] as const;
export type ApplicationMode = (typeof APPLICATION_MODES)[number];

/** What the quotas of the namespace leave for more pods, what one pod of a service takes, and what waits for a node. */
export const PlanRoom = z.strictObject({
  quotas: z.array(z.strictObject({ name: ObjectName, left: QuotaAmounts })).max(64),
  pods: z.array(z.strictObject({ service: ServiceName, takes: QuotaAmounts })).max(10_000),
  /** Pods that no node has taken yet; absent where there are none. */
  waiting: z
    .array(z.strictObject({ service: ServiceName, pods: Count }))
    .max(10_000)
    .optional(),
});
export type PlanRoom = z.infer<typeof PlanRoom>;

/** What the tightest PodDisruptionBudget of a service allows now. */
export const PlanDisruptions = z.strictObject({
  service: ServiceName,
  budget: ObjectName,
  /** Pods that may be taken down at once. */
  allowed: Count,
});
export type PlanDisruptions = z.infer<typeof PlanDisruptions>;

/** What an application's missed objective is put down to; the predictor's `/v1/explain` has all of it. */
export const PlanCause = z.strictObject({
  service: ServiceName,
  /** See `CAUSE_TYPES`; another release may know further ones. */
  type: z.string().min(1).max(16),
  sinceMs: EpochMs,
  /** With the latency of the window that it was found in. */
  summary: z.string().max(1_000),
  /** The same without: it stands beside figures of a newer window. Absent in plans of releases that did not say it. */
  text: z.string().max(1_000).optional(),
});
export type PlanCause = z.infer<typeof PlanCause>;

/** Most patterns that a plan carries; the predictor's `/v1/patterns` has all of them. */
export const MOST_PLAN_PATTERNS = 8;

/** Names in spans without a workload, each in a sentence with the mapping proposed. */
export const Unmapped = z.array(z.string().max(1_000)).max(10);

export const PLAN_SCHEMA = "tradewind.dev/plan/v1";

/** One decision of the predictor for a whole application: `GET /v1/plan`. */
export const Plan = z.strictObject({
  schema: z.literal(PLAN_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** Rises by one with each plan of a predictor's life. */
  sequence: Count,
  predictorStartedAtMs: EpochMs,
  plannedAtMs: EpochMs,
  /** How often plans are made: one for each window of this length. */
  windowSeconds: z.number().positive().optional(),
  /** False when the predictor knows that a part of the traffic was not seen; readers with a choice take another plan. */
  complete: z.boolean().optional(),
  /** What of the traffic was not seen, in words; absent when nothing is known to be missing. */
  missing: z.array(z.string().max(500)).max(16).optional(),
  /** What the application allows to be done with the plan. */
  mode: orAbsent(z.enum(APPLICATION_MODES)),
  /** Absent where no quota holds, or none is known, and no pod waits for a node. */
  room: orAbsent(PlanRoom),
  /** Services of which a PodDisruptionBudget limits how many pods may be taken down at once; absent where none does, or none is known. */
  disruptions: orAbsent(z.array(PlanDisruptions).max(10_000)),
  /** Calendars that the load of the past speaks for; absent while too little of it is known to say. */
  learnedCalendars: orAbsent(z.array(LearnedCalendar).max(1_000)),
  /** Changes that a language model or a person requested; the wishes do not contain them. */
  askedChanges: orAbsent(z.array(AskedChange).max(MOST_ASKED_CHANGES)),
  policy: PolicyLabel,
  /** Why this level of the ladder decides. */
  policyReason: z.string().max(500),
  policyReasons: Reasons,
  /** By what a scaler decides while no predictor answers: the name of a model, see core/contract/students.ts. */
  students: orAbsent(z.object({ hash: ContentHash })),
  objective: LatencyObjective,
  /** Measured percentile of the worst flow; absent without traffic. */
  measuredLatencySeconds: NonNegative.optional(),
  /** Share of the requests that failed, of the route with most; absent where that are no more than may be late. */
  failedRatio: orAbsent(Ratio),
  /** How the application stood in the last window, in one sentence of its reasons; absent without requests that are held to an objective. */
  standing: orAbsent(z.string().max(1_000)),
  /** Absent where the objective is met, or no cause is named. */
  cause: orAbsent(PlanCause),
  /** What the window and the load show, failures first; absent where nothing is seen. */
  patterns: orAbsent(z.array(Pattern).max(MOST_PLAN_PATTERNS)),
  /** Absent where every name has a workload, or it is not known what runs. */
  unmapped: orAbsent(Unmapped),
  wishes: z.array(Wish).max(10_000),
});
export type Plan = z.infer<typeof Plan>;
