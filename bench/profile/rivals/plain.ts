import type { Rng } from "@tradewind/core/rng.ts";
import { NetworkEvaluator } from "@tradewind/predictor/profile/network.ts";
import type { NetworkShape } from "@tradewind/predictor/profile/shape.ts";
import { fitNetwork } from "@tradewind/predictor/training/fit.ts";
import type { FitOptions, FitRows } from "@tradewind/predictor/training/fit.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { columnsOf } from "./columns.ts";
import type { ColumnSet } from "./columns.ts";
import { meanAbsoluteRatio } from "./rivals.ts";
import type { Learnt, Predictor } from "./rivals.ts";

const LEAST_SECONDS = 1e-5;

/** As much training as one of our networks gets. */
export interface PlainBudget {
  readonly maxEpochs: number;
  readonly batchRows: number;
}

interface Variant {
  readonly set: ColumnSet;
  readonly target: "latency" | "logarithm";
}

const VARIANTS: readonly Variant[] = [
  { set: "features", target: "latency" },
  { set: "features", target: "logarithm" },
  { set: "with-state", target: "latency" },
  { set: "with-state", target: "logarithm" },
];

interface Trained {
  readonly predict: Predictor;
  readonly epochs: number;
}

function fitVariant({ train, stop }: Learnt, variant: Variant, budget: PlainBudget, rng: Rng): Trained {
  const columns = columnsOf(train, variant.set);
  const table = columns.rows(train);
  const width = table[0]?.length ?? 0;
  const scale =
    train.reduce((sum, { latencySeconds }) => sum + latencySeconds, 0) / Math.max(1, train.length);
  const lows = Array.from({ length: width }, (_, c) => Math.min(...table.map((row) => row[c] ?? 0)));
  const widths = lows.map((low, c) => Math.max(...table.map((row) => row[c] ?? 0)) - low || 1);
  const normalised = (row: readonly number[]): number[] =>
    row.map((x, c) => (x - (lows[c] ?? 0)) / (widths[c] ?? 1));
  const isLog = variant.target === "logarithm";
  const shape: NetworkShape = { inputs: width, hidden: [64, 32, 16], activation: "relu" };
  const fitRows = (rows: readonly TrainingRow[]): FitRows => ({
    count: rows.length,
    inputs: Float32Array.from(columns.rows(rows).flatMap(normalised)),
    offset: new Float32Array(rows.length),
    logStretch: new Float32Array(rows.length),
    logBase: new Float32Array(rows.length),
    target: Float32Array.from(rows, ({ latencySeconds }) => {
      const scaled = latencySeconds / scale;
      return isLog ? Math.log(scaled) : scaled;
    }),
    weight: new Float32Array(rows.length).fill(1),
  });
  const options: FitOptions = {
    ...budget,
    shape,
    directions: Array.from({ length: width }, () => 0 as const),
    monotone: false,
    loss: "squared",
    learningRate: 0.003,
    patience: Math.ceil(budget.maxEpochs / 3),
    spreadQuantile: 0.9,
    decay: 0,
    stretchWeight: 0,
    baseWeight: 0,
  };
  const { parameters, epochs } = fitNetwork(fitRows(train), fitRows(stop), options, rng);
  const evaluator = new NetworkEvaluator({ shape, parameters });
  const predict: Predictor = (rows) =>
    columns.rows(rows).map((row) => {
      evaluator.forward(Float64Array.from(normalised(row)));
      return Math.max(
        LEAST_SECONDS,
        scale * (isLog ? Math.exp(Math.min(10, evaluator.centre)) : evaluator.centre),
      );
    });
  return { predict, epochs };
}

/**
 * Grad's profile: four layers of rectified linear units on min-max normalised features, squared error, no prior and no
 * constraint; on the latency or on its logarithm, with or without the measured state, whichever does best on the held-back
 * rows, then fitted on all rows for as many epochs as that took.
 */
export function plain(learnt: Learnt, budget: PlainBudget, rng: Rng): Predictor {
  const tried = VARIANTS.map((variant) => {
    const { predict, epochs } = fitVariant(learnt, variant, budget, rng);
    return { variant, epochs, error: meanAbsoluteRatio(predict(learnt.stop), learnt.stop) };
  });
  tried.sort((a, b) => a.error - b.error);
  const [best] = tried;
  if (best === undefined) throw new RangeError("nothing to choose from");
  const all = [...learnt.train, ...learnt.stop];
  return fitVariant(
    { train: all, stop: all },
    best.variant,
    { ...budget, maxEpochs: Math.max(1, best.epochs) },
    rng,
  ).predict;
}
