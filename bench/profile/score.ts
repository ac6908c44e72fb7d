import { INPUT_COUNT, INPUT_DIRECTIONS } from "@tradewind/predictor/profile/inputs.ts";
import { trackInterval } from "@tradewind/predictor/profile/interval.ts";
import type { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";

/** Sum of relative errors and the number of rows, so that services add up row by row. */
export interface ErrorSum {
  readonly sum: number;
  readonly rows: number;
}

/** Mean absolute percentage error, one decimal; null without rows. */
export function percentage(sums: readonly ErrorSum[]): number | null {
  const rows = sums.reduce((count, each) => count + each.rows, 0);
  return rows === 0 ? null : Math.round((1000 * sums.reduce((sum, each) => sum + each.sum, 0)) / rows) / 10;
}

export function errorSum(
  predicted: readonly number[],
  rows: readonly TrainingRow[],
  keep: (latencySeconds: number) => boolean,
): ErrorSum {
  let sum = 0;
  let count = 0;
  for (const [i, { latencySeconds }] of rows.entries()) {
    if (!keep(latencySeconds)) continue;
    sum += Math.abs((predicted[i] ?? 0) - latencySeconds) / latencySeconds;
    count += 1;
  }
  return { sum, rows: count };
}

/** Components of the gradient that point the wrong way, over all rows. */
export function signErrors(profile: TrainedProfile, rows: readonly TrainingRow[]): number {
  const gradient = new Float64Array(INPUT_COUNT);
  let wrong = 0;
  for (const { input } of rows) {
    profile.evaluate(input, gradient);
    for (const [i, slope] of gradient.entries()) if (slope * (INPUT_DIRECTIONS[i] ?? 0) < 0) wrong += 1;
  }
  return wrong;
}

/**
 * Rows inside the 90 % interval. In time, the interval follows what was measured: all rows of one moment are judged with
 * the same interval, and only then move it.
 */
export function covered(profile: TrainedProfile, rows: readonly TrainingRow[], inTime: boolean): number {
  let inside = 0;
  let moment = Number.NaN;
  let waiting: number[] = [];
  for (const { atMs, input, latencySeconds } of rows) {
    if (inTime && atMs !== moment) {
      for (const score of waiting) profile.interval = trackInterval(profile.interval, score);
      waiting = [];
      moment = atMs;
    }
    const value = profile.evaluate(input);
    const { lowerSeconds, upperSeconds } = profile.verdict;
    if (latencySeconds >= lowerSeconds && latencySeconds <= upperSeconds) inside += 1;
    waiting.push(Math.log(latencySeconds / value) / profile.spread);
  }
  return inside;
}
