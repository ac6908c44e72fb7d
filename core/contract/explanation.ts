import { z } from "zod";
import { CAUSE_TYPES } from "./cause.ts";
import { Precedents } from "./incident.ts";
import { MOST_PATTERNS, Pattern } from "./pattern.ts";
import {
  ContentHash,
  Count,
  EpochMs,
  LatencyObjective,
  NonNegative,
  ObjectName,
  Ratio,
  ServiceName,
  orAbsent,
} from "./quantity.ts";

const CauseType = z.enum(CAUSE_TYPES);

/** A measured value of a service, as it stands in the sketch of the same window. */
export const EvidenceReading = z.strictObject({
  signal: z.string().max(64),
  /** Mean since the onset, in the signal's unit. */
  value: z.number(),
  /** Median of the windows in which the objective was met; absent where too few are known. */
  baseline: z.number().optional(),
  bin: z.enum(["low", "medium", "high"]),
  /** What the signal is, with its unit. */
  words: z.string().max(100),
});
export type EvidenceReading = z.infer<typeof EvidenceReading>;

export const NamedCause = z.strictObject({
  service: ServiceName,
  type: CauseType,
  /** Score over the sum of all scores. */
  confidence: Ratio,
  /** Share of the time, or of the failures, added since the onset that begins with the service. */
  share: Ratio,
  evidence: z.array(EvidenceReading).max(32),
});
export type NamedCause = z.infer<typeof NamedCause>;

/** One supposed change, carried out on the live models. */
export const CheckedCounterfactual = z.strictObject({
  service: ServiceName,
  /** `own-time`: the service answers as fast as before the onset; the others are sizes. */
  resource: z.enum(["cpu", "memory", "replicas", "own-time"]),
  /** Cores or bytes of a container, replicas, or seconds of self time. */
  from: NonNegative,
  to: NonNegative,
  /** Of the slowest route. */
  tailBeforeSeconds: NonNegative,
  tailAfterSeconds: NonNegative,
  /** Better or worse by more than 2 % of the objective. */
  outcome: z.enum(["better", "same", "worse"]),
  /** The models expect the objective to be missed without the change, and met with it. */
  ends: z.boolean(),
});
export type CheckedCounterfactual = z.infer<typeof CheckedCounterfactual>;

/** A service that is not the cause, and why not. */
export const ClearedService = z.strictObject({
  service: ServiceName,
  /** `as-before`: its own time is; `little`: it adds little; `refuted`: the models say that it would not help. */
  code: z.enum(["as-before", "little", "refuted"]),
  why: z.string().max(300),
});
export type ClearedService = z.infer<typeof ClearedService>;

/** Why a part of a model's answer is kept, or not. */
export const ANSWER_VERDICTS = [
  "format",
  "no-such-service",
  "no-such-signal",
  "value-differs",
  "too-little-evidence",
  "model-disagrees",
  "no-model",
  "unsafe",
  "kept",
] as const;

/** What a language model says of the same window, after every claim was checked. It changes no plan: changes that are kept are proposed. */
export const ModelOpinion = z.strictObject({
  model: z.string().min(1).max(200),
  /** Its words, where the answer as a whole was kept; they were not checked. */
  words: z.string().max(4_000),
  /** Causes of which every citation is true. */
  causes: z.array(z.strictObject({ service: ServiceName, type: CauseType })).max(16),
  /** Changes that it expects to help, and that the live models expect to help. */
  counterfactuals: z.array(CheckedCounterfactual).max(64),
  /** How many parts got each verdict. */
  verdicts: z.partialRecord(z.enum(ANSWER_VERDICTS), Count),
  /** It names the same first cause as the built-in reasoner. */
  agrees: z.boolean(),
  /** How long after the window it came, where further windows had been decided on since; it was checked against the state that it was asked about. */
  lateSeconds: orAbsent(NonNegative),
});
export type ModelOpinion = z.infer<typeof ModelOpinion>;

export const EXPLANATION_SCHEMA = "tradewind.dev/explanation/v1";

/** Why the objective is missed, or that it is not: `GET /v1/explain` of the predictor. */
export const Explanation = z.strictObject({
  schema: z.literal(EXPLANATION_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** End of the window that is explained. */
  atMs: EpochMs,
  /** When the trouble began, by the change point of the latency. */
  onsetMs: EpochMs,
  objective: LatencyObjective,
  measuredLatencySeconds: NonNegative.optional(),
  /** Share of failed requests of the worst route, where that are more than may be late; a failed request counts as one over the objective. */
  failedRatio: orAbsent(Ratio),
  isMissed: z.boolean(),
  /** What users notice. */
  harm: z.enum(["time", "failures"]),
  /** Windows that usual values are made of. */
  pastWindows: Count,
  /** Hash of the sketch that all values are cited from. */
  sketchHash: ContentHash,
  /** One sentence: what is slow, why, and what would end it. */
  summary: z.string().max(1_000),
  /** Most likely first; empty: no cause is named. */
  causes: z.array(NamedCause).max(3),
  counterfactuals: z.array(CheckedCounterfactual).max(64),
  notCauses: z.array(ClearedService).max(20),
  /** What the window and the load show by name, see {@link Pattern}; absent in what earlier releases wrote. */
  patterns: orAbsent(z.array(Pattern).max(MOST_PATTERNS)),
  /** What was like it before, and how that ended; absent while the objective is met, and in what earlier releases wrote. */
  precedents: orAbsent(Precedents),
  /** What is not known, in words. */
  missing: z.array(z.string().max(500)).max(16),
  /** Earlier explanations that were judged, and those of them whose first cause was right; absent where none was. */
  accuracy: orAbsent(z.strictObject({ judged: Count, first: Count })),
  /** The four tagged stages. */
  transcript: z.string().max(262_144),
  /** Absent where no model is configured, or it has not answered. */
  opinion: ModelOpinion.optional(),
});
export type Explanation = z.infer<typeof Explanation>;
