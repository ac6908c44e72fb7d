import { quantile } from "@tradewind/predictor/profile/order-statistics.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { BOOSTED_DEFAULTS, fitBoosted } from "./boosted.ts";
import { columnsOf } from "./columns.ts";
import type { ColumnSet } from "./columns.ts";
import { leastSquares } from "./least-squares.ts";

/** Predicted latencies of rows, seconds. */
export type Predictor = (rows: readonly TrainingRow[]) => number[];

/** Nothing is predicted below this: a line through a knee goes negative. */
const LEAST_SECONDS = 1e-5;
const COLUMN_SETS: readonly ColumnSet[] = ["features", "with-state"];

export function meanAbsoluteRatio(predicted: readonly number[], rows: readonly TrainingRow[]): number {
  const errors = rows.map(
    ({ latencySeconds }, i) => Math.abs((predicted[i] ?? 0) - latencySeconds) / latencySeconds,
  );
  return errors.reduce((sum, error) => sum + error, 0) / Math.max(1, rows.length);
}

/** The candidate with the smallest error on the held-back rows: how every rival is tuned. */
export function bestOn(stop: readonly TrainingRow[], candidates: readonly Predictor[]): Predictor {
  const scored = candidates.map((predict) => ({ predict, error: meanAbsoluteRatio(predict(stop), stop) }));
  scored.sort((a, b) => a.error - b.error);
  const [best] = scored;
  if (best === undefined) throw new RangeError("no candidate to choose from");
  return best.predict;
}

/** The training median for every row. */
export function naive(train: readonly TrainingRow[]): Predictor {
  const middle = median(train.map(({ latencySeconds }) => latencySeconds));
  return (rows) => rows.map(() => middle);
}

/** One plane, on the latency (also weighted for relative errors) or on its logarithm. */
export function linear(train: readonly TrainingRow[], stop: readonly TrainingRow[]): Predictor {
  const seconds = train.map(({ latencySeconds }) => latencySeconds);
  const candidates = COLUMN_SETS.flatMap((set) => {
    const columns = columnsOf(train, set);
    const table = columns.rows(train);
    const plain = leastSquares(
      table,
      seconds,
      seconds.map(() => 1),
    );
    const relative = leastSquares(
      table,
      seconds,
      seconds.map((y) => 1 / y ** 2),
    );
    const log = leastSquares(
      table,
      seconds.map(Math.log),
      seconds.map(() => 1),
    );
    return [plain, relative, (row: readonly number[]) => Math.exp(log(row))].map(
      (fit): Predictor =>
        (rows) =>
          columns.rows(rows).map((row) => Math.max(LEAST_SECONDS, fit(row))),
    );
  });
  return bestOn(stop, candidates);
}

/** Bends tried, as quantiles of the bending column in training. */
const BENDS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96];

/** Two planes that take over from each other at a load (or a utilisation): the form of Erms. */
export function piecewise(train: readonly TrainingRow[], stop: readonly TrainingRow[]): Predictor {
  const seconds = train.map(({ latencySeconds }) => latencySeconds);
  const candidates: Predictor[] = [];
  for (const set of COLUMN_SETS) {
    const columns = columnsOf(train, set);
    const table = columns.rows(train);
    const bending = set === "features" ? columns.load : columns.utilisation;
    if (bending === undefined || bending === -1) continue;
    for (const share of BENDS) {
      const bend = quantile(
        table.map((row) => row[bending] ?? 0),
        share,
      );
      for (const power of [0, 1, 2]) {
        const sides = [0, 1].map((side) => {
          const chosen = table.flatMap((row, i) =>
            ((row[bending] ?? 0) > bend ? 1 : 0) === side ? [i] : [],
          );
          return leastSquares(
            chosen.map((i) => table[i] ?? []),
            chosen.map((i) => seconds[i] ?? 0),
            chosen.map((i) => 1 / (seconds[i] ?? 1) ** power),
          );
        });
        candidates.push((rows) =>
          columns.rows(rows).map((row) => {
            const side = sides[(row[bending] ?? 0) > bend ? 1 : 0];
            return Math.max(LEAST_SECONDS, side?.(row) ?? LEAST_SECONDS);
          }),
        );
      }
    }
  }
  return bestOn(stop, candidates);
}

/** Boosted trees on the logarithm, in the default size and in two sizes for small data. */
export function boosted(train: readonly TrainingRow[], stop: readonly TrainingRow[]): Predictor {
  const logs = train.map(({ latencySeconds }) => Math.log(latencySeconds));
  const sizes = [
    BOOSTED_DEFAULTS,
    { ...BOOSTED_DEFAULTS, maxLeaves: 8, minSamplesLeaf: 5 },
    { ...BOOSTED_DEFAULTS, maxLeaves: 4, minSamplesLeaf: 3, trees: 200 },
  ];
  const candidates = COLUMN_SETS.flatMap((set) => {
    const columns = columnsOf(train, set);
    const table = columns.rows(train);
    return sizes.map((size): Predictor => {
      const fit = fitBoosted(table, logs, size);
      return (rows) => columns.rows(rows).map((row) => Math.exp(fit(row)));
    });
  });
  return bestOn(stop, candidates);
}
