import type { Rng } from "@tradewind/core/rng.ts";
import { NetworkEvaluator } from "@tradewind/predictor/profile/network.ts";
import type { NetworkShape } from "@tradewind/predictor/profile/shape.ts";
import { fitNetwork } from "@tradewind/predictor/training/fit.ts";
import type { FitRows } from "@tradewind/predictor/training/fit.ts";
import type { TrainingRow } from "@tradewind/predictor/training/rows.ts";
import { columnsOf } from "./columns.ts";
import { bestOn } from "./rivals.ts";
import type { Predictor } from "./rivals.ts";

const LEAST_SECONDS = 1e-5;

/** Epochs like ours. */
export interface PlainBudget {
  readonly maxEpochs: number;
  readonly batchRows: number;
}

/**
 * Grad's profile: four layers of rectified linear units on min-max normalised features, squared error, no prior and no
 * constraint; on the latency or on its logarithm, with or without the measured state.
 */
export function plain(
  train: readonly TrainingRow[],
  stop: readonly TrainingRow[],
  budget: PlainBudget,
  rng: Rng,
): Predictor {
  const seconds = train.map(({ latencySeconds }) => latencySeconds);
  const scale = seconds.reduce((sum, y) => sum + y, 0) / Math.max(1, seconds.length);
  const candidates = (["features", "with-state"] as const).flatMap((set) => {
    const columns = columnsOf(train, set);
    const table = columns.rows(train);
    const width = table[0]?.length ?? 0;
    const lows = Array.from({ length: width }, (_, c) => Math.min(...table.map((row) => row[c] ?? 0)));
    const widths = lows.map((low, c) => Math.max(...table.map((row) => row[c] ?? 0)) - low || 1);
    const normalised = (row: readonly number[]): number[] =>
      row.map((x, c) => (x - (lows[c] ?? 0)) / (widths[c] ?? 1));
    const shape: NetworkShape = { inputs: width, hidden: [64, 32, 16], activation: "relu" };
    return (["latency", "logarithm"] as const).map((target): Predictor => {
      const forward = (y: number): number => (target === "latency" ? y / scale : Math.log(y / scale));
      const back = (t: number): number =>
        Math.max(LEAST_SECONDS, scale * (target === "latency" ? t : Math.exp(t)));
      const fitRows = (rows: readonly TrainingRow[]): FitRows => ({
        count: rows.length,
        inputs: Float32Array.from(columns.rows(rows).flatMap(normalised)),
        offset: new Float32Array(rows.length),
        logStretch: new Float32Array(rows.length),
        logBase: new Float32Array(rows.length),
        target: Float32Array.from(rows, ({ latencySeconds }) => forward(latencySeconds)),
        weight: new Float32Array(rows.length).fill(1),
      });
      const { parameters } = fitNetwork(
        fitRows(train),
        fitRows(stop),
        {
          ...budget,
          shape,
          directions: Array.from({ length: width }, () => 0 as const),
          monotone: false,
          loss: "squared",
          learningRate: 0.003,
          patience: 20,
          spreadQuantile: 0.9,
          decay: 0,
          stretchWeight: 0,
          baseWeight: 0,
        },
        rng,
      );
      const evaluator = new NetworkEvaluator({ shape, parameters });
      return (rows) =>
        columns.rows(rows).map((row) => {
          evaluator.forward(Float64Array.from(normalised(row)));
          return back(evaluator.centre);
        });
    });
  });
  return bestOn(stop, candidates);
}
