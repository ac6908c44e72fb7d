import { z } from "zod";
import { ContentHash, Count, EpochMs, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";

/** The rungs of the ladder, from least to most evidence; `students` act when the predictor is silent. */
export const POLICIES = [
  "hold",
  "static",
  "reactive",
  "queue",
  "planner-prior",
  "planner",
  "students",
] as const;
export const PolicyName = z.enum(POLICIES);
export type PolicyName = z.infer<typeof PolicyName>;

/** A size of a service: how many replicas, and what each container gets. Absent parts are left as they are. */
export const Allocation = z.strictObject({
  replicas: Count,
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
});
export type Allocation = z.infer<typeof Allocation>;

/** What a policy would like for one service, before the guard. */
export const Wish = z.strictObject({
  namespace: ObjectName,
  service: ServiceName,
  allocation: Allocation,
  policy: PolicyName,
  /** Plain words: why this and not something else. */
  reason: z.string().max(500),
  confidence: Ratio,
  /** p95 of the application's flows through this service, now and as predicted after the move. */
  latencyBeforeSeconds: NonNegative.optional(),
  latencyAfterSeconds: NonNegative.optional(),
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
    lastStartedAtMs: EpochMs.optional(),
    /** False when latency, load or replicas were missing in the window. */
    complete: z.boolean(),
  }),
  bounds: z.strictObject({
    minReplicas: Count,
    maxReplicas: Count,
    cpuMinCores: z.number().positive(),
    cpuMaxCores: z.number().positive(),
    memoryMinBytes: z.number().positive(),
    memoryMaxBytes: z.number().positive(),
    /** Sizes are multiples of these; absent means any size. */
    cpuStepCores: z.number().positive().optional(),
    memoryStepBytes: z.number().positive().optional(),
  }),
});
export type Wish = z.infer<typeof Wish>;

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
  policy: PolicyName,
  /** Why this rung of the ladder decides. */
  policyReason: z.string().max(500),
  objective: z.strictObject({ percentile: Ratio, seconds: z.number().positive() }),
  /** Measured percentile of the worst flow; absent without traffic. */
  measuredLatencySeconds: NonNegative.optional(),
  wishes: z.array(Wish).max(10_000),
});
export type Plan = z.infer<typeof Plan>;
