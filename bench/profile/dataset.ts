import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";

/** Rows of one service, split once for all methods alike. */
export interface ServiceRows {
  readonly service: string;
  readonly priorWeight: number;
  readonly train: readonly TrainingRow[];
  /** Held back from training: stops it, calibrates intervals, and tunes every rival. */
  readonly stop: readonly TrainingRow[];
  /** Oldest first. */
  readonly test: readonly TrainingRow[];
  /** Median latency of the calmer half of the rows by load, seconds: twice this is the knee. */
  readonly calmSeconds: number;
}

export interface Dataset {
  readonly name: string;
  readonly split: string;
  /** What was left out, what stands for what, and what the data can judge. */
  readonly notes: string;
  readonly services: readonly ServiceRows[];
  /** Whether test rows come in time, so that intervals may follow what was measured before each. */
  readonly inTime: boolean;
  /** Rows above this latency are scored apart as well. */
  readonly alsoAboveSeconds?: number;
}
