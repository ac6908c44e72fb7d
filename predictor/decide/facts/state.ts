import {
  Count,
  EpochMs,
  NonNegative,
  ObjectName,
  Ratio,
  ServiceName,
} from "@tradewind/core/contract/quantity.ts";
import { LatencySummary } from "@tradewind/core/contract/window.ts";
import { z } from "zod";

/** Highest memory use of a container of a service on one day. */
export const MemoryPeak = z.strictObject({
  /** Days since the Unix epoch, UTC. */
  day: Count,
  bytes: NonNegative,
  /** Windows of that day in which it was measured. */
  windows: Count,
});
export type MemoryPeak = z.infer<typeof MemoryPeak>;

/** What the policies remember of one service. */
export const ServiceMemory = z.strictObject({
  service: ServiceName,
  /** Replicas last wished. */
  replicas: Count,
  /** What the platform wanted when that was wished: a later rise is somebody else's doing. */
  platformWanted: Count.optional(),
  seenAtMs: EpochMs,
  /** Replicas that served at the end of the last window. */
  readyReplicas: Count.optional(),
  /** Requests waiting for or served in the service in the last window. */
  ownRequests: NonNegative.optional(),
  /** Size of a container last wished, and what ran when that was wished; absent where no size was ever wished. */
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
  platformCpuCores: z.number().positive().optional(),
  platformMemoryBytes: z.number().positive().optional(),
  /** Set when replicas were added, until all of them have served a whole window. */
  unproven: z.literal(true).optional(),
  /** Since when another CPU size is wished and the size that runs has stayed; absent while none is. */
  cpuUnmovedSinceMs: EpochMs.optional(),
  /** CPU of a container that was advised lately, see advice.ts; nothing counts on it. */
  advisedCpuCores: NonNegative.optional(),
  /** By day, newest first. */
  memoryPeaks: z.array(MemoryPeak).max(64).optional(),
  /** Tail over objective when pods were last added for latency; absent once they have served a whole window. */
  grownAtSeverity: NonNegative.optional(),
});
export type ServiceMemory = z.infer<typeof ServiceMemory>;

/** Where a run of growth for latency began: what it is compared with to see whether it helped. */
export const GrowthCheckpoint = z.strictObject({
  severity: NonNegative,
  requestsPerSecond: NonNegative,
  /** Replicas of the services that growth went to, weighted by their share of the queue. */
  congestedReplicas: NonNegative,
  podsAdded: Count,
});
export type GrowthCheckpoint = z.infer<typeof GrowthCheckpoint>;

/** Latencies and failures of a flow of few calls in the last windows, newest first: one window alone has too few calls for its tail. */
export const FlowMemory = z.strictObject({
  flow: z.string().max(200),
  latencies: z
    .array(z.strictObject({ ...LatencySummary.shape, errorRatio: Ratio.optional(), endMs: EpochMs }))
    .max(64),
});
export type FlowMemory = z.infer<typeof FlowMemory>;

export const POLICY_STATE_SCHEMA = "tradewind.dev/policy-state/v1";

/** What the policies carry from one window to the next beside what the models have learnt. */
export const RememberedState = z.strictObject({
  schema: z.literal(POLICY_STATE_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** End of the last window decided on; absent before the first. */
  windowEndMs: EpochMs.optional(),
  /** Calm windows in a row. */
  calmWindows: Count,
  /** Windows in a row in which the objective was missed. */
  missedWindows: Count,
  /** Times the patience has been doubled because a step down had to be undone. */
  patienceDoublings: Count,
  /** The last step down, until it is undone or forgotten. */
  shrunkAtMs: EpochMs.optional(),
  /** Requests per second that entered the application then. */
  shrunkAtRequestsPerSecond: NonNegative.optional(),
  /** Mean CPU interference of the containers then, in [0, 1]; absent where no agent tells. */
  shrunkAtInterference: z.number().min(0).max(1).optional(),
  /** Services that lost CPU or replicas in it; absent: any may have. */
  shrunkServices: z.array(ServiceName).max(10_000).optional(),
  /** Requests per second that entered the application in the last window. */
  requestsPerSecond: NonNegative.optional(),
  growth: GrowthCheckpoint.optional(),
  /** Set when growth for latency showed no effect. */
  futile: z.strictObject({ untilMs: EpochMs, severity: NonNegative, times: Count }).optional(),
  flows: z.array(FlowMemory).max(1_000).optional(),
  services: z.array(ServiceMemory).max(10_000),
});
export type RememberedState = z.infer<typeof RememberedState>;

/** What a decision changes in the state beside the replicas of each service. */
export interface Course {
  readonly calmWindows: number;
  readonly missedWindows: number;
  readonly patienceDoublings: number;
  readonly shrunkAtMs?: number;
  readonly shrunkAtRequestsPerSecond?: number;
  readonly shrunkAtInterference?: number;
  readonly shrunkServices?: readonly string[];
  readonly requestsPerSecond?: number;
  readonly growth?: GrowthCheckpoint;
  readonly futile?: NonNullable<RememberedState["futile"]>;
  /** Services that were given pods for latency, and the tail over objective at which. */
  readonly grown?: { readonly severity: number; readonly services: readonly string[] };
}
