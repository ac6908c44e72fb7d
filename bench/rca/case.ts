import type { Incident } from "@tradewind/predictor/answers/reason/incident.ts";

/** A recorded incident with its known cause. */
export interface RecordedCase {
  readonly id: string;
  readonly incident: Incident;
  readonly rootCause: string;
  /** What was injected, where the set says it: for results by kind only. */
  readonly kind: string;
  /** Whether it may be looked at to choose anything. */
  readonly part: "tuning" | "report";
}

/** A recorded time in which all was well. */
export interface CalmCase {
  readonly id: string;
  readonly incident: Incident;
  readonly part: "tuning" | "report";
}

export interface RecordedSet {
  readonly name: string;
  readonly cases: readonly RecordedCase[];
  readonly calm: readonly CalmCase[];
}

/** Values that were measured. */
export const known = (values: readonly number[]): number[] =>
  values.filter((value) => Number.isFinite(value));
