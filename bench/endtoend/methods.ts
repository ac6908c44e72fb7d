import type { Rng } from "@tradewind/core/rng.ts";
import { AttentionResidual } from "@tradewind/predictor/endtoend/attention.ts";
import type { AttentionModel } from "@tradewind/predictor/endtoend/attention-model.ts";
import { NetworkEvaluator } from "@tradewind/predictor/profile/network.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import type { NetworkShape } from "@tradewind/predictor/profile/shape.ts";
import type { EndToEndRow } from "@tradewind/predictor/training/end-to-end-rows.ts";
import { fitNetwork } from "@tradewind/predictor/training/fit.ts";
import type { FitRows } from "@tradewind/predictor/training/fit.ts";
import {
  END_TO_END_DEFAULTS,
  fitEndToEnd,
  splitRows,
  trainEndToEnd,
} from "@tradewind/predictor/training/train-end-to-end.ts";
import { BOOSTED_DEFAULTS, fitBoosted } from "../profile/rivals/boosted.ts";
import type { Row } from "./data.ts";

export const METHODS = ["ours", "graph", "attention", "monolithic", "boosted", "naive"] as const;
export type Method = (typeof METHODS)[number];

/** Predicted tails of rows, seconds. */
export type Predictor = (rows: readonly Row[]) => number[];

export interface Budget {
  readonly maxSteps: number;
  readonly epochs: number;
}

const withResidual =
  (model: AttentionModel | undefined, prior: (row: EndToEndRow) => number): Predictor =>
  (rows) => {
    const residual = model && new AttentionResidual(model);
    return rows.map((row) => prior(row) * Math.exp(residual?.evaluate(row.ownTails, row.meanShares) ?? 0));
  };

const job = (services: readonly string[], maxSteps: number) => ({
  flow: "bench",
  percentile: 0.95,
  services,
  current: undefined,
  nowMs: 0,
  settings: { maxSteps, starts: 1 },
});

/** Call graph times exp(residual), the residual only where it won on the last part of the training rows. */
export function ours(
  train: readonly Row[],
  services: readonly string[],
  budget: Budget,
  rng: Rng,
): Predictor {
  const outcome = trainEndToEnd({ ...job(services, budget.maxSteps), rows: train }, rng);
  return withResidual(
    outcome.kind === "replaced" ? outcome.model : undefined,
    ({ priorSeconds }) => priorSeconds,
  );
}

export const graph: Predictor = (rows) => rows.map(({ priorSeconds }) => priorSeconds);

/** Grad's predictor: the same attention without the call graph, free to move as far as the tails do. */
export function attention(
  train: readonly Row[],
  services: readonly string[],
  budget: Budget,
  rng: Rng,
): Predictor {
  const middle = median(train.map(({ tailSeconds }) => tailSeconds));
  const without = train.map((row) => ({ ...row, priorSeconds: middle }));
  const settings = { ...END_TO_END_DEFAULTS, maxSteps: 2 * budget.maxSteps, starts: 1, largestFactor: 1_000 };
  const model = fitEndToEnd({ ...job(services, budget.maxSteps), settings }, splitRows(without), rng);
  return withResidual(model, () => middle);
}

/** The training median for every row. */
export function naive(train: readonly Row[]): Predictor {
  const middle = median(train.map(({ tailSeconds }) => tailSeconds));
  return (rows) => rows.map(() => middle);
}

function errorOn(rows: readonly Row[], predict: Predictor): number {
  const predicted = predict(rows);
  return rows.reduce((sum, { tailSeconds }, i) => sum + Math.abs((predicted[i] ?? 0) / tailSeconds - 1), 0);
}

/** Boosted trees on all columns and the logarithm of the tail, of three sizes tuned on held-back rows. */
export function boosted(all: readonly Row[]): Predictor {
  const { train, stop, later } = splitRows(all);
  const tuning = [...stop, ...later];
  const candidates = [
    BOOSTED_DEFAULTS,
    { ...BOOSTED_DEFAULTS, maxLeaves: 8, minSamplesLeaf: 5 },
    { ...BOOSTED_DEFAULTS, maxLeaves: 4, minSamplesLeaf: 3, trees: 200 },
  ].map((options) => {
    const fit = fitBoosted(
      train.map(({ columns }) => columns),
      train.map(({ tailSeconds }) => Math.log(tailSeconds)),
      options,
    );
    return { options, error: errorOn(tuning, (rows) => rows.map(({ columns }) => Math.exp(fit(columns)))) };
  });
  candidates.sort((a, b) => a.error - b.error);
  const fit = fitBoosted(
    all.map(({ columns }) => columns),
    all.map(({ tailSeconds }) => Math.log(tailSeconds)),
    candidates[0]?.options ?? BOOSTED_DEFAULTS,
  );
  return (rows) => rows.map(({ columns }) => Math.exp(fit(columns)));
}

/** One network from all columns of all services to the logarithm of the tail (the form of Sinan and GRAF). */
export function monolithic(all: readonly Row[], budget: Budget, rng: Rng): Predictor {
  const { train, stop, later } = splitRows(all);
  const width = train[0]?.columns.length ?? 0;
  const lows = Array.from({ length: width }, (_, c) =>
    Math.min(...train.map(({ columns }) => columns[c] ?? 0)),
  );
  const widths = lows.map((low, c) => Math.max(...train.map(({ columns }) => columns[c] ?? 0)) - low || 1);
  const middle = Math.log(median(train.map(({ tailSeconds }) => tailSeconds)));
  const normalised = ({ columns }: Row): number[] =>
    columns.map((x, c) => Math.max(-0.5, Math.min(1.5, (x - (lows[c] ?? 0)) / (widths[c] ?? 1))));
  const fitRows = (rows: readonly Row[]): FitRows => ({
    count: rows.length,
    inputs: Float32Array.from(rows.flatMap(normalised)),
    offset: new Float32Array(rows.length).fill(middle),
    logStretch: new Float32Array(rows.length),
    logBase: new Float32Array(rows.length),
    target: Float32Array.from(rows, ({ tailSeconds }) => Math.log(tailSeconds)),
    weight: new Float32Array(rows.length).fill(1),
  });
  const shape: NetworkShape = { inputs: width, hidden: [64, 32, 16], activation: "relu" };
  const { parameters } = fitNetwork(
    fitRows(train),
    fitRows([...stop, ...later]),
    {
      shape,
      directions: Array.from({ length: width }, () => 0 as const),
      monotone: false,
      loss: "absolute",
      learningRate: 0.003,
      batchRows: 64,
      maxEpochs: budget.epochs,
      patience: Math.ceil(budget.epochs / 3),
      spreadQuantile: 0.9,
      decay: 0.0001,
      stretchWeight: 0,
      baseWeight: 0,
    },
    rng,
  );
  const evaluator = new NetworkEvaluator({ shape, parameters });
  return (rows) =>
    rows.map((row) => {
      evaluator.forward(Float64Array.from(normalised(row)));
      return Math.exp(middle + evaluator.centre);
    });
}

/** Every method, trained on the same rows. */
export function trainAll(
  train: readonly Row[],
  services: readonly string[],
  budget: Budget,
  rng: Rng,
): Record<Method, Predictor> {
  return {
    ours: ours(train, services, budget, rng),
    graph,
    attention: attention(train, services, budget, rng),
    monolithic: monolithic(train, budget, rng),
    boosted: boosted(train),
    naive: naive(train),
  };
}
