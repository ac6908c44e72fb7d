import {
  ContentHash,
  Count,
  EpochMs,
  NonNegative,
  ObjectName,
  ServiceName,
} from "@tradewind/core/contract/quantity.ts";
import { LatencySummary } from "@tradewind/core/contract/window.ts";
import { z } from "zod";
import { CostMemory } from "../decide/state.ts";

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
  /** Requests in the service at once, callees included, in the last window. */
  inFlight: NonNegative.optional(),
  /** Measured over predicted own tail, as learnt in steady windows. */
  correction: z.number().positive().optional(),
  /** Size of a container last wished, and what ran when that was wished; absent where no size was ever wished. */
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
  platformCpuCores: z.number().positive().optional(),
  platformMemoryBytes: z.number().positive().optional(),
  /** CPU demand of what arrived in the last windows, cores, oldest first. */
  recentDemandCores: z.array(NonNegative).max(16).optional(),
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

/** The planner's rungs, from less to more evidence. */
export const PLANNER_RUNGS = ["planner-prior", "planner"] as const;
export const PlannerRung = z.enum(PLANNER_RUNGS);
export type PlannerRung = z.infer<typeof PlannerRung>;

/** What the planner's rungs remember: whether what they decided held. */
export const PlannerMemory = z.strictObject({
  /** The rung that made the last plan; absent when another one did. */
  rung: PlannerRung.optional(),
  /** The last plan was made to end a miss. */
  cures: z.boolean().optional(),
  /** Windows in a row that missed the objective although a plan that was to end the miss had been carried out. */
  missedInSpite: Count,
  /** Tail over objective of the slowest flow that tells, in the last windows without a gap, oldest first. */
  recentSeverities: z.array(NonNegative).max(64),
  /** Measured over predicted tail of each flow, as learnt in steady windows, with this residual or with none. */
  flowCorrections: z
    .array(
      z.strictObject({
        flow: z.string().max(200),
        correction: z.number().positive(),
        modelHash: ContentHash.optional(),
      }),
    )
    .max(1_000)
    .optional(),
  /** The rung that is not believed until then; the prior's takes the trained profiles' with it. */
  distrust: z.strictObject({ rung: PlannerRung, untilMs: EpochMs, times: Count }).optional(),
});
export type PlannerMemory = z.infer<typeof PlannerMemory>;

/** Latencies of a flow of few calls in the last windows, newest first: one window alone does not tell its tail. */
export const FlowMemory = z.strictObject({
  flow: z.string().max(200),
  latencies: z.array(z.strictObject({ ...LatencySummary.shape, endMs: EpochMs })).max(64),
});
export type FlowMemory = z.infer<typeof FlowMemory>;

export const POLICY_STATE_SCHEMA = "tradewind.dev/policy-state/v1";

/** Everything the policies carry from one window to the next; kept on disk. */
export const PolicyState = z.strictObject({
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
  planner: PlannerMemory.optional(),
  cost: CostMemory.optional(),
  flows: z.array(FlowMemory).max(1_000).optional(),
  services: z.array(ServiceMemory).max(10_000),
});
export type PolicyState = z.infer<typeof PolicyState>;

export function emptyState(application: string, namespace: string): PolicyState {
  return {
    schema: POLICY_STATE_SCHEMA,
    application,
    namespace,
    calmWindows: 0,
    missedWindows: 0,
    patienceDoublings: 0,
    services: [],
  };
}
