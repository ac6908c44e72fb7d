import { z } from "zod";
import { CAUSE_TYPES } from "./cause.ts";
import { PATTERN_KINDS } from "./pattern.ts";
import { Count, EpochMs, NonNegative, Ratio, ServiceName } from "./quantity.ts";

/** A size that was another at the end of an incident than at its beginning, as it ran. */
export const IncidentChange = z.strictObject({
  service: ServiceName,
  /** Cores of a container, or replicas that serve. */
  resource: z.enum(["cpu", "replicas"]),
  from: NonNegative,
  to: NonNegative,
});
export type IncidentChange = z.infer<typeof IncidentChange>;

/**
 * What was different when it ended: `growth`, something is larger while the load is the same; `load`, the load fell by 15 % or more; `neither`.
 */
export const INCIDENT_ENDS = ["growth", "load", "neither"] as const;

/** A time in which the objective was missed, and what came of it. */
export const PastIncident = z.strictObject({
  onsetMs: EpochMs,
  /** The first window in which the objective was met again. */
  endMs: EpochMs,
  /** Highest latency of the slowest route over its objective. */
  worstRatio: NonNegative,
  /** Absent where none was named. */
  cause: z.strictObject({ service: ServiceName, type: z.enum(CAUSE_TYPES) }).optional(),
  patterns: z.array(z.enum(PATTERN_KINDS)).max(PATTERN_KINDS.length),
  changes: z.array(IncidentChange).max(64),
  ended: z.enum(INCIDENT_ENDS),
});
export type PastIncident = z.infer<typeof PastIncident>;

/** A past incident that is like the present one. */
export const Precedent = PastIncident.extend({
  /** Half of one and the cosine between what was unusual then and what is now; 1: the same signals, as unusual. */
  similarity: Ratio,
});
export type Precedent = z.infer<typeof Precedent>;

/** Most precedents of one incident. */
export const MOST_PRECEDENTS = 3;

/** The nearest of the past incidents that are known. */
export const Precedents = z.strictObject({
  known: Count,
  nearest: z.array(Precedent).max(MOST_PRECEDENTS),
});
export type Precedents = z.infer<typeof Precedents>;
