import { z } from "zod";
import { EpochMs, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";

/** Four of the load, and five that are named after what fails. */
export const PATTERN_KINDS = [
  "shift",
  "trend",
  "season",
  "anomaly",
  "retry-storm",
  "fan-out",
  "scaling-lag",
  "limits",
  "co-location",
] as const;
export type PatternKind = (typeof PATTERN_KINDS)[number];

/** Something that windows or the load of the past show, now. */
export const Pattern = z.strictObject({
  kind: z.enum(PATTERN_KINDS),
  /** Where it is seen: what is slow, or what calls; absent where it is the load of the application. */
  service: ServiceName.optional(),
  /** The other end of a call. */
  callee: ServiceName.optional(),
  /** When it began; of a season, when the last one did. */
  sinceMs: EpochMs,
  /**
   * Of a shift, an anomaly, calls and self time: now over before. Of a trend: change since then over the level. Of a season: highest
   * over mean load. Of a lag: replicas wanted over ready. Of limits: share of periods throttled, or containers killed.
   */
  size: z.number(),
  confidence: Ratio,
  words: z.string().max(300),
});
export type Pattern = z.infer<typeof Pattern>;

/** Most patterns of one application at a time. */
export const MOST_PATTERNS = 64;

export const PATTERNS_SCHEMA = "tradewind.dev/patterns/v1";

/** What is seen in the last window and in the load up to it: `GET /v1/patterns` of the predictor. */
export const PatternList = z.strictObject({
  schema: z.literal(PATTERNS_SCHEMA),
  application: ObjectName,
  namespace: ObjectName,
  /** End of that window. */
  atMs: EpochMs,
  /** Requests per second in it; absent where not measured. */
  requestsPerSecond: NonNegative.optional(),
  /** Failure patterns first, surest first. */
  patterns: z.array(Pattern).max(MOST_PATTERNS),
});
export type PatternList = z.infer<typeof PatternList>;
