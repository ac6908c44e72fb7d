import { z } from "zod";
import { Calendar } from "./calendar.ts";
import { LoadForecast } from "./forecast.ts";
import { Precedents } from "./incident.ts";
import { MOST_PATTERNS, Pattern } from "./pattern.ts";
import { Allocation, APPLICATION_MODES, Bounds, PlanCause, PlanRoom, PolicyLabel } from "./plan.ts";
import {
  ContentHash,
  Count,
  EpochMs,
  LatencyObjective,
  NonNegative,
  ObjectName,
  Ratio,
  ServiceName,
} from "./quantity.ts";

export const CONTEXT_SCHEMA = "tradewind.dev/context/v1";

/** Bounds of the answer: some 300 KB at most. */
export const MOST_CONTEXT_SERVICES = 200;
export const MOST_CONTEXT_CALLS = 500;
export const MOST_CONTEXT_SIGNALS = 8;
export const MOST_CONTEXT_NODES = 8;

/** A value that is unusual for the service, or high whatever was before. */
const ContextSignal = z.strictObject({
  signal: z.string().max(64),
  value: z.number(),
  baseline: z.number().optional(),
  bin: z.enum(["low", "high"]),
});

/** One service: what runs, what was measured in the last window, what is proposed, and what is unusual. */
export const ContextService = z.strictObject({
  service: ServiceName,
  replicasReady: Count.optional(),
  replicasWanted: Count.optional(),
  cpuCores: z.number().positive().optional(),
  memoryBytes: z.number().positive().optional(),
  requestsPerSecond: NonNegative.optional(),
  selfTimeP95Seconds: NonNegative.optional(),
  responseP95Seconds: NonNegative.optional(),
  errorRatio: Ratio.optional(),
  /** Whose replicas come first where there is no room for all; of the application where the service has none of its own. */
  priority: z.number(),
  /** Its callers can do without it. */
  optional: z.literal(true).optional(),
  /** Pods by node, most first; absent where nodes are not known. */
  nodes: z
    .array(z.strictObject({ node: z.string().max(253), pods: Count }))
    .max(MOST_CONTEXT_NODES)
    .optional(),
  /** Pods that no node has taken yet. */
  podsUnscheduled: Count.optional(),
  /** Name of the newest program and the share of the pods that run it; absent where it is not known. */
  revision: z.string().max(253).optional(),
  newestRevisionShare: Ratio.optional(),
  /** Before the guard of a scaler; absent where nothing is proposed for it. */
  proposed: Allocation.optional(),
  reason: z.string().max(500).optional(),
  bounds: Bounds.optional(),
  unusual: z.array(ContextSignal).max(MOST_CONTEXT_SIGNALS),
});
export type ContextService = z.infer<typeof ContextService>;

/** A calendar with the window that holds now, else the next one. */
const ContextCalendar = z.strictObject({
  calendar: Calendar,
  holds: z.boolean(),
  fromMs: EpochMs.optional(),
  untilMs: EpochMs.optional(),
});

/** All that is known of an application at one time, bounded in size: `GET /v1/context` of the predictor. */
export const ApplicationContext = z.strictObject({
  schema: z.literal(CONTEXT_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  entry: ServiceName,
  /** End of the last window. */
  atMs: EpochMs,
  mode: z.enum(APPLICATION_MODES),
  objective: LatencyObjective,
  /** Of the slowest route; absent without traffic. */
  measuredLatencySeconds: NonNegative.optional(),
  policy: PolicyLabel,
  policyReason: z.string().max(500),
  /** From the decision to a pod that serves; absent before starts were measured or assumed. */
  startSeconds: z.number().positive().optional(),
  /** What quotas leave; absent where none holds, or none is known. */
  quotas: PlanRoom.shape.quotas.optional(),
  /** Absent where the objective is met, or no cause is named. */
  cause: PlanCause.optional(),
  /** Of the state that unusual signals are from; as in explanations. */
  sketchHash: ContentHash.optional(),
  /** Those with most that is unusual first, then by load. */
  services: z.array(ContextService).max(MOST_CONTEXT_SERVICES),
  /** Further ones that are left out. */
  moreServices: Count,
  /** Calls for each request of the caller, between services that are listed. */
  calls: z
    .array(z.strictObject({ from: ServiceName, to: ServiceName, perRequest: NonNegative.optional() }))
    .max(MOST_CONTEXT_CALLS),
  patterns: z.array(Pattern).max(MOST_PATTERNS),
  /** Absent before a window with load has been decided on by cost. */
  forecast: LoadForecast.optional(),
  calendars: z.array(ContextCalendar).max(100),
  /** Past incidents like the present state; absent while nothing is unusual. */
  precedents: Precedents.optional(),
  /** What is not known, in words. */
  missing: z.array(z.string().max(500)).max(16),
});
export type ApplicationContext = z.infer<typeof ApplicationContext>;
