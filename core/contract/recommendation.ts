import { z } from "zod";
import { Allocation, PolicyName, Wish } from "./plan.ts";
import { Count, EpochMs, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";

/** One guard step that changed the allocation, or refused to. */
export const GuardAction = z.strictObject({
  step: z.string().min(1).max(64),
  before: Allocation,
  after: Allocation,
  reason: z.string().max(500),
});
export type GuardAction = z.infer<typeof GuardAction>;

/** Everything that went into one recommendation: replaying it gives the same numbers bit for bit. */
export const DecisionRecord = z.strictObject({
  id: z.string().regex(/^[0-9a-z-]{1,64}$/),
  application: ObjectName,
  namespace: ObjectName,
  service: ServiceName,
  decidedAtMs: EpochMs,
  validUntilMs: EpochMs,
  wish: Wish,
  /** Everything else the guard read. */
  context: z.strictObject({
    previous: Allocation.optional(),
    previousDecidedAtMs: EpochMs.optional(),
    exporterStartedAtMs: EpochMs,
    staleAfterSeconds: z.number().positive(),
    restartGraceSeconds: NonNegative,
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
  policy: PolicyName,
  confidence: Ratio,
  latencyBeforeSeconds: NonNegative.optional(),
  latencyAfterSeconds: NonNegative.optional(),
  /** What the platform ran when this was decided. */
  replicasReady: Count.optional(),
  reason: z.string().max(1_000),
  decidedAtMs: EpochMs,
  validUntilMs: EpochMs,
  decisionId: z.string(),
});
export type Recommendation = z.infer<typeof Recommendation>;
