import { mean, median, quantile } from "@tradewind/core/values/statistics.ts";
import { BOOSTED_DEFAULTS, fitBoosted } from "./boosted.ts";
import { leastSquares } from "./least-squares.ts";

/** What a rival learns from and predicts for; NaN where a column was not measured. */
export interface Row {
  /** The first two are what a piecewise model bends at. */
  readonly columns: readonly number[];
  readonly latencySeconds: number;
}

/** Predicted latencies of rows, seconds. */
export type Predictor = (rows: readonly Row[]) => number[];

/** Nothing is predicted below this: a line through a knee goes negative. */
const LEAST_SECONDS = 1e-5;
/** One row in so many tunes. */
const TUNING_EVERY = 5;
/** Neighbours in time stay together: so many rows are one block. */
const BLOCK_ROWS = 10;

/** One way to fit; called again on all rows when it was the best. */
type Fit = (train: readonly Row[]) => Predictor;

/** How every rival is tuned: the way to fit that errs least on held-back blocks, fitted once more on all rows. */
function tuned(rows: readonly Row[], fits: readonly Fit[]): Predictor {
  const isTuning = (_: Row, at: number): boolean => Math.floor(at / BLOCK_ROWS) % TUNING_EVERY === 0;
  const stop = rows.filter(isTuning);
  const train = rows.filter((row, at) => !isTuning(row, at));
  const scored = fits.map((fit) => ({ fit, error: meanAbsoluteRatio(fit(train)(stop), stop) }));
  scored.sort((a, b) => a.error - b.error);
  const [best] = scored;
  if (best === undefined) throw new RangeError("nothing to choose from");
  return best.fit(rows);
}

function meanAbsoluteRatio(predicted: readonly number[], rows: readonly Row[]): number {
  const errors = rows.map(({ latencySeconds }, i) => Math.abs((predicted[i] ?? 0) / latencySeconds - 1));
  return mean(errors, 0);
}

/** The training median for every row. */
export function naive(train: readonly Row[]): Predictor {
  const middle = median(train.map(({ latencySeconds }) => latencySeconds));
  return (rows) => rows.map(() => middle);
}

/** Columns that vary in training; absent values become the training median. */
function tableOf(train: readonly Row[]): (rows: readonly Row[]) => number[][] {
  const width = train[0]?.columns.length ?? 0;
  const middles = Array.from({ length: width }, (_, c) =>
    median(train.map(({ columns }) => columns[c] ?? Number.NaN).filter(Number.isFinite)),
  );
  const used = middles.flatMap((middle, c) => {
    const varies = train.some(({ columns }) => Number.isFinite(columns[c]) && columns[c] !== middle);
    return Number.isFinite(middle) && varies ? [c] : [];
  });
  return (rows) =>
    rows.map(({ columns }) =>
      used.map((c) => (Number.isFinite(columns[c]) ? (columns[c] ?? 0) : (middles[c] ?? 0))),
    );
}

type Target = "latency" | "relative" | "logarithm";
const TARGETS: readonly Target[] = ["latency", "relative", "logarithm"];

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

const secondsOf = (rows: readonly Row[]): number[] => rows.map(({ latencySeconds }) => latencySeconds);

/** One plane through all rows: of the latency, of the latency by relative errors, or of its logarithm, whichever {@link tuned} prefers. */
export function linear(rows: readonly Row[]): Predictor {
  const fits = TARGETS.map((target): Fit => (train) => {
    const tableFor = tableOf(train);
    const secondsAt = fitPlane(tableFor(train), secondsOf(train), target);
    return (unseen) => tableFor(unseen).map(secondsAt);
  });
  return tuned(rows, fits);
}

/** Bends tried, as quantiles of the bending column in training. */
const BENDS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96];

/** Two planes that take over from each other at a load or a utilisation: the form of Erms. */
export function piecewise(rows: readonly Row[]): Predictor {
  const fits = [0, 1].flatMap((bending) =>
    BENDS.flatMap((share) =>
      TARGETS.map(
        (target): Fit =>
          (train) =>
            fitPieces(train, bending, share, target),
      ),
    ),
  );
  return tuned(rows, fits);
}

function fitPieces(train: readonly Row[], bending: number, share: number, target: Target): Predictor {
  const columns = tableOf(train);
  const table = columns(train);
  const seconds = secondsOf(train);
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
    columns(rows).map((row) => sides[(row[bending] ?? 0) > bend ? 1 : 0]?.(row) ?? LEAST_SECONDS);
}

/** Boosted trees on the logarithm, in the default size and in two sizes for small data. */
export function boosted(rows: readonly Row[]): Predictor {
  const sizes = [
    BOOSTED_DEFAULTS,
    { ...BOOSTED_DEFAULTS, maxLeaves: 8, minSamplesLeaf: 5 },
    { ...BOOSTED_DEFAULTS, maxLeaves: 4, minSamplesLeaf: 3, trees: 200 },
  ];
  const fits = sizes.map((size): Fit => (train) => {
    const columns = tableOf(train);
    const fit = fitBoosted(columns(train), secondsOf(train).map(Math.log), size);
    return (later) => columns(later).map((row) => Math.exp(fit(row)));
  });
  return tuned(rows, fits);
}
