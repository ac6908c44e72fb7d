import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";

/** Rows of one service, split once for all methods alike. */
export interface ServiceRows {
  readonly service: string;
  readonly priorWeight: number;
  /** What may be learnt from, dealt out so that neighbours stay together; the first fold tunes the rivals. */
  readonly folds: readonly (readonly TrainingRow[])[];
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
  /** Mean error that the measured latencies have by chance alone, percent: no model can be told to be better. */
  readonly samplingNoise?: number;
  /** Rows above this latency are scored apart as well. */
  readonly alsoAboveSeconds?: number;
}

/** Deals rows out to folds by a number each; empty folds are left out. */
export function dealt<T extends TrainingRow>(
  rows: readonly T[],
  count: number,
  place: (row: T) => number,
): T[][] {
  const folds = Array.from({ length: count }, (): T[] => []);
  for (const row of rows) folds[place(row) % count]?.push(row);
  return folds.filter((fold) => fold.length > 0);
}
