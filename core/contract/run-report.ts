import { z } from "zod";
import { Count, NonNegative, Ratio } from "./quantity.ts";

/** Figures of one phase of a run of the local platform, measured at the load generator and on the replicas. */
export const PhaseReport = z.strictObject({
  name: z.enum(["warmup", "calm", "surge", "interference", "recovery"]),
  /** Seconds since the start of the load. */
  fromS: NonNegative,
  toS: NonNegative,
  /** Requests that were due in the phase. */
  requests: Count,
  /** Those that were refused, broke, or took longer than the time-out. */
  failed: Count,
  /** From the time a request was due; a failed one counts as the time-out. Null without requests. */
  p95Ms: NonNegative.nullable(),
  p50Ms: NonNegative.nullable().optional(),
  p99Ms: NonNegative.nullable().optional(),
  /** Share of the requests over the objective, failed ones among them. Null without requests. */
  violationRatio: Ratio.nullable(),
  /** Mean over time of the ready replicas of all services. */
  replicasMean: NonNegative,
  /** Mean CPU use of all replicas, cores. */
  cpuCoresMean: NonNegative,
  /** Mean over time of the CPU limits of the ready replicas, summed, cores: what the application costs. */
  allocatedCpuCoresMean: NonNegative.optional(),
  /** Mean over time of their memory limits, summed. */
  allocatedMemoryBytesMean: NonNegative.optional(),
});
export type PhaseReport = z.infer<typeof PhaseReport>;

/** What `tradewind local --for … --json FILE` writes. Every number was measured in the run. */
export const RunReport = z.strictObject({
  version: z.string(),
  seed: z.number().int(),
  /** `auto`, `plan`, `queue`, `static`, `hpa:60`, `keda-rps:20`. */
  policy: z.string().min(1).max(40),
  application: z.string(),
  objectiveMs: z.number().positive(),
  durationS: NonNegative,
  /** Spans that the predictor received. */
  spans: Count,
  /** Windows of one service each that the predictor formed. */
  windows: Count,
  /** Decisions that the exporter took for one service each. */
  recommendations: Count,
  /** Changes of a replica count, or of the size of a service's replicas, that were carried out. */
  actuations: Count,
  /** Calls of the external scaler, as seen by the caller. */
  keda: z.strictObject({ rpcs: Count, errors: Count, p99Ms: NonNegative }),
  /** The agent's own account of its samples and its cost. */
  agent: z.strictObject({ samples: Count, cpuRatio: NonNegative, rssBytes: NonNegative }),
  phases: z.array(PhaseReport),
});
export type RunReport = z.infer<typeof RunReport>;
