import { median, quantile } from "@tradewind/predictor/profile/order-statistics.ts";
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

/** Rows to learn from and rows to tune by. */
export interface Learnt {
  readonly train: readonly TrainingRow[];
  readonly stop: readonly TrainingRow[];
}

/** One way to fit; called again on all rows when it was the best. */
export type Fit = (train: readonly TrainingRow[]) => Predictor;

/** How every rival is tuned: the way to fit that errs least on the held-back rows, fitted once more on all rows. */
export function tuned({ train, stop }: Learnt, fits: readonly Fit[]): Predictor {
  const scored = fits.map((fit) => ({ fit, error: meanAbsoluteRatio(fit(train)(stop), stop) }));
  scored.sort((a, b) => a.error - b.error);
  const [best] = scored;
  if (best === undefined) throw new RangeError("nothing to choose from");
  return best.fit([...train, ...stop]);
}

/** The training median for every row. */
export function naive(train: readonly TrainingRow[]): Predictor {
  const middle = median(train.map(({ latencySeconds }) => latencySeconds));
  return (rows) => rows.map(() => middle);
}

type Target = "latency" | "relative" | "logarithm";

/** Weight of a row in least squares: 1/y² makes relative errors count. */
const weightOf = (seconds: number, target: Target): number => (target === "relative" ? 1 / seconds ** 2 : 1);

function fitPlane(
  table: readonly (readonly number[])[],
  seconds: readonly number[],
  target: Target,
): (row: readonly number[]) => number {
  const isLog = target === "logarithm";
  const plane = leastSquares(
    table,
    isLog ? seconds.map(Math.log) : seconds,
    seconds.map((y) => weightOf(y, target)),
  );
  return (row) => Math.max(LEAST_SECONDS, isLog ? Math.exp(Math.min(10, plane(row))) : plane(row));
}

const TARGETS: readonly Target[] = ["latency", "relative", "logarithm"];
const secondsOf = (rows: readonly TrainingRow[]): number[] =>
  rows.map(({ latencySeconds }) => latencySeconds);

/** One plane, on the latency (also weighted for relative errors) or on its logarithm. */
export function linear(learnt: Learnt): Predictor {
  const fits = COLUMN_SETS.flatMap((set) =>
    TARGETS.map((target): Fit => (train) => {
      const columns = columnsOf(train, set);
      const plane = fitPlane(columns.rows(train), secondsOf(train), target);
      return (rows) => columns.rows(rows).map(plane);
    }),
  );
  return tuned(learnt, fits);
}

/** Bends tried, as quantiles of the bending column in training. */
const BENDS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96];

/** Two planes that take over from each other at a load (or a utilisation): the form of Erms. */
export function piecewise(learnt: Learnt): Predictor {
  const fits = COLUMN_SETS.flatMap((set) =>
    BENDS.flatMap((share) =>
      TARGETS.map(
        (target): Fit =>
          (train) =>
            fitPieces(train, set, share, target),
      ),
    ),
  );
  return tuned(learnt, fits);
}

function fitPieces(train: readonly TrainingRow[], set: ColumnSet, share: number, target: Target): Predictor {
  const columns = columnsOf(train, set);
  const table = columns.rows(train);
  const seconds = secondsOf(train);
  const bending = set === "features" ? columns.load : (columns.utilisation ?? columns.load);
  const bend = quantile(
    table.map((row) => row[bending] ?? 0),
    share,
  );
  const sides = [false, true].map((above) => {
    const chosen = table.flatMap((row, i) => ((row[bending] ?? 0) > bend === above ? [i] : []));
    return fitPlane(
      chosen.map((i) => table[i] ?? []),
      chosen.map((i) => seconds[i] ?? 0),
      target,
    );
  });
  return (rows) =>
    columns.rows(rows).map((row) => sides[(row[bending] ?? 0) > bend ? 1 : 0]?.(row) ?? LEAST_SECONDS);
}

/** Boosted trees on the logarithm, in the default size and in two sizes for small data. */
export function boosted(learnt: Learnt): Predictor {
  const sizes = [
    BOOSTED_DEFAULTS,
    { ...BOOSTED_DEFAULTS, maxLeaves: 8, minSamplesLeaf: 5 },
    { ...BOOSTED_DEFAULTS, maxLeaves: 4, minSamplesLeaf: 3, trees: 200 },
  ];
  const fits = COLUMN_SETS.flatMap((set) =>
    sizes.map((size): Fit => (train) => {
      const columns = columnsOf(train, set);
      const fit = fitBoosted(columns.rows(train), secondsOf(train).map(Math.log), size);
      return (rows) => columns.rows(rows).map((row) => Math.exp(fit(row)));
    }),
  );
  return tuned(learnt, fits);
}
