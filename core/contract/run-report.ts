import { z } from "zod";
import { Count, NonNegative, Ratio } from "./quantity.ts";

/** Why a request failed: refused for too many at once, another error, broken off, past the time-out, or never sent. */
export const FAILURE_KINDS = ["refused", "error", "broken", "late", "unsent"] as const;

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
  /** The same by why; kinds that did not come are left out. */
  failures: z.partialRecord(z.enum(FAILURE_KINDS), Count).optional(),
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

/** p95 of the users' requests over a run, from its start, in steps of one length. */
export const RunTimeline = z.strictObject({
  stepSeconds: z.number().positive(),
  /** One for each step, ms; null where no request was due. A failed request counts as the time-out. */
  p95Ms: z.array(NonNegative.nullable()).max(1_000),
});
export type RunTimeline = z.infer<typeof RunTimeline>;

/** What is added up over a whole run. */
export const RunTotals = z.strictObject({
  /** Seconds in steps of the timeline whose p95 was over the objective. */
  secondsOver: NonNegative,
  /** Mean price of what ready replicas were allowed to use, at the default prices. */
  costPerHour: NonNegative,
  /** Replicas that were started and stopped after the first ones. */
  starts: Count,
  stops: Count,
});
export type RunTotals = z.infer<typeof RunTotals>;

/** What `tradewind local --for … --json FILE` writes. Every number was measured in the run. */
export const RunReport = z.strictObject({
  version: z.string().max(64),
  seed: z.number().int(),
  /** `auto`, `plan`, `queue`, `static`, `hpa:60`, `keda-rps:20`. */
  policy: z.string().min(1).max(40),
  application: z.string().max(253),
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
  /** Absent in reports of earlier versions. */
  totals: RunTotals.optional(),
  timeline: RunTimeline.optional(),
});
export type RunReport = z.infer<typeof RunReport>;

/** What `tradewind local --compare … --json FILE` writes: two runs of the same load. */
export const RunComparison = z.strictObject({
  /** The rival's run was read from a file. */
  recorded: z.boolean(),
  rival: RunReport,
  ours: RunReport,
});
export type RunComparison = z.infer<typeof RunComparison>;
