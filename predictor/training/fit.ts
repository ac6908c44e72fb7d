import * as tf from "@tensorflow/tfjs-core";
import type { Rng } from "@tradewind/core/rng.ts";
import { standardNormal } from "@tradewind/core/rng.ts";
import { layoutOf, parameterSigns } from "../profile/shape.ts";
import type { Direction, NetworkShape } from "../profile/shape.ts";
import { buildGraph, held } from "./graph.ts";
import type { Graph } from "./graph.ts";

/** Rows to learn from, column by column. */
export interface FitRows {
  readonly count: number;
  /** Normalised inputs, row by row. */
  readonly inputs: Float32Array;
  /** Prediction = offset + stretchWeight · logStretch + baseWeight · logBase + centre. */
  readonly offset: Float32Array;
  readonly logStretch: Float32Array;
  /** ln (base latency / typical base latency). */
  readonly logBase: Float32Array;
  readonly target: Float32Array;
  readonly weight: Float32Array;
}

export interface FitOptions {
  readonly shape: NetworkShape;
  readonly directions: readonly Direction[];
  readonly monotone: boolean;
  /** `absolute` learns the median, `squared` the mean of the target. */
  readonly loss: "absolute" | "squared";
  readonly learningRate: number;
  readonly batchRows: number;
  readonly maxEpochs: number;
  /** Stops after this many epochs without a better validation loss. */
  readonly patience: number;
  /** Quantile of the absolute error that the spread head learns. */
  readonly spreadQuantile: number;
  /** Pull of the weights (not biases) towards zero: `decay · Σ w²`. */
  readonly decay: number;
  /** Where the prior's two weights start. */
  readonly stretchWeight: number;
  readonly baseWeight: number;
  readonly initial?: Float64Array | undefined;
}

export interface Fitted {
  readonly parameters: Float64Array;
  readonly validationLoss: number;
  /** Epoch the parameters are from. */
  readonly epochs: number;
}

/** Starting parameters: small, of the right sign, biases spread so that units bend at different places. */
export function initialParameters(options: Omit<FitOptions, "initial">, rng: Rng): Float64Array {
  const layout = layoutOf(options.shape);
  const signs = parameterSigns(options.shape, options.directions, options.monotone);
  const parameters = new Float64Array(layout.length);
  for (const [depth, layer] of [...layout.hidden, layout.centre, layout.spread].entries()) {
    const isHead = layer === layout.centre || layer === layout.spread;
    const signed = options.monotone && layer !== layout.spread;
    // Weights of one sign do not cancel: their sum, not their square sum, sets the size of the output.
    const scale =
      signed && depth > 0
        ? 1.5 / layer.from
        : Math.sqrt((isHead ? 0.1 : 1) / layer.from) * (depth === 0 ? 2 : 1);
    for (let i = layer.weights; i < layer.biases; i += 1) {
      const draw = standardNormal(rng) * scale;
      parameters[i] = signs[i] === 0 ? draw : Math.abs(draw) * (signs[i] ?? 1);
    }
    if (isHead) continue;
    for (let j = 0; j < layer.to; j += 1)
      parameters[layer.biases + j] = standardNormal(rng) * (depth === 0 ? 1 : 0.3);
  }
  parameters[layout.stretchWeight] = options.stretchWeight;
  parameters[layout.baseWeight] = options.baseWeight;
  return parameters;
}

interface Batch {
  readonly inputs: tf.Tensor2D;
  readonly offset: tf.Tensor1D;
  readonly logStretch: tf.Tensor1D;
  readonly logBase: tf.Tensor1D;
  readonly target: tf.Tensor1D;
  readonly weight: tf.Tensor1D;
}

function toBatch(rows: FitRows, order: Int32Array | undefined, width: number): Batch {
  const count = order?.length ?? rows.count;
  const pick = (column: Float32Array): tf.Tensor1D =>
    tf.tensor1d(order === undefined ? column : Float32Array.from(order, (row) => column[row] ?? 0));
  const inputs = new Float32Array(count * width);
  for (let i = 0; i < count; i += 1) {
    const row = order?.[i] ?? i;
    inputs.set(rows.inputs.subarray(row * width, (row + 1) * width), i * width);
  }
  return {
    inputs: tf.tensor2d(inputs, [count, width]),
    offset: pick(rows.offset),
    logStretch: pick(rows.logStretch),
    logBase: pick(rows.logBase),
    target: pick(rows.target),
    weight: pick(rows.weight),
  };
}

function errorOf(
  graph: Graph,
  parameters: tf.Tensor1D,
  batch: Batch,
): { error: tf.Tensor1D; spread: tf.Tensor1D } {
  const { centre, spread } = graph.heads(parameters, batch.inputs);
  const prior = tf.add(
    batch.offset,
    tf.add(
      tf.mul(batch.logStretch, graph.stretchWeight(parameters)),
      tf.mul(batch.logBase, graph.baseWeight(parameters)),
    ),
  );
  return { error: tf.sub(tf.add(prior, centre), batch.target), spread };
}

/** Weighted mean of |e|, smooth within 1e-3 of zero, or of e². */
function centreLoss(error: tf.Tensor1D, weight: tf.Tensor1D, loss: FitOptions["loss"]): tf.Scalar {
  const squared = tf.square(error);
  const cost = loss === "squared" ? squared : tf.sqrt(tf.add(squared, 1e-6));
  return tf.div(tf.sum(tf.mul(cost, weight)), tf.sum(weight));
}

/** Pinball loss of the spread against the absolute error, which itself does not learn from it. */
function spreadLoss(error: tf.Tensor1D, spread: tf.Tensor1D, quantile: number): tf.Scalar {
  const gap = tf.sub(held(tf.abs(error)), spread);
  return tf.mean(tf.maximum(tf.mul(gap, quantile), tf.mul(gap, quantile - 1)));
}

function shuffled(count: number, rng: Rng): Int32Array {
  const order = Int32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i -= 1) {
    const j = Math.floor(rng() * (i + 1));
    const kept = order[i] ?? 0;
    order[i] = order[j] ?? 0;
    order[j] = kept;
  }
  return order;
}

/** Adam (Kingma and Ba, 2015) on one flat vector, each parameter reflected back when it would cross to a sign it may not have. */
class SignedAdam {
  readonly #first: Float64Array;
  readonly #second: Float64Array;
  #steps = 0;

  constructor(length: number) {
    this.#first = new Float64Array(length);
    this.#second = new Float64Array(length);
  }

  step(parameters: Float64Array, gradient: Float32Array, signs: Int8Array, learningRate: number): void {
    this.#steps += 1;
    const firstBias = 1 - 0.9 ** this.#steps;
    const secondBias = 1 - 0.999 ** this.#steps;
    for (let i = 0; i < parameters.length; i += 1) {
      const slope = gradient[i] ?? 0;
      if (!Number.isFinite(slope)) continue;
      const first = 0.9 * (this.#first[i] ?? 0) + 0.1 * slope;
      const second = 0.999 * (this.#second[i] ?? 0) + 0.001 * slope * slope;
      this.#first[i] = first;
      this.#second[i] = second;
      const moved =
        (parameters[i] ?? 0) - (learningRate * first) / firstBias / (Math.sqrt(second / secondBias) + 1e-8);
      const wrongSign = moved * (signs[i] ?? 0) < 0;
      parameters[i] = wrongSign ? -moved : moved;
      if (wrongSign) this.#first[i] = -first;
    }
  }
}

/** 1 for every weight, 0 for biases and the prior's weight. */
function weightMask(shape: NetworkShape): tf.Tensor1D {
  const layout = layoutOf(shape);
  const mask = new Float32Array(layout.length);
  for (const { weights, biases } of [...layout.hidden, layout.centre]) mask.fill(1, weights, biases);
  return tf.tensor1d(mask);
}

/**
 * Fits one network: mini-batches, cosine-decayed Adam, early stopping on the validation rows (a later time block). Every
 * tensor made here is gone when it returns.
 */
export function fitNetwork(train: FitRows, validation: FitRows, options: FitOptions, rng: Rng): Fitted {
  const width = options.shape.inputs;
  const signs = parameterSigns(options.shape, options.directions, options.monotone);
  const parameters = options.initial?.slice() ?? initialParameters(options, rng);
  const adam = new SignedAdam(parameters.length);
  const graph = buildGraph(options.shape);
  const mask = weightMask(options.shape);
  const stopRows = toBatch(validation, undefined, width);
  const lossOf = (batch: Batch) => (vector: tf.Tensor1D) => {
    const { error, spread } = errorOf(graph, vector, batch);
    const decay = tf.mul(tf.sum(tf.mul(tf.square(vector), mask)), options.decay);
    return tf.addN([
      centreLoss(error, batch.weight, options.loss),
      spreadLoss(error, spread, options.spreadQuantile),
      decay,
    ]) as tf.Scalar;
  };
  const validate = (): number =>
    tf.tidy(() => {
      const { error } = errorOf(graph, tf.tensor1d(Float32Array.from(parameters)), stopRows);
      return centreLoss(error, stopRows.weight, options.loss).dataSync()[0] ?? Infinity;
    });
  let best = parameters.slice();
  let bestLoss = validate();
  let bestEpoch = 0;
  let epoch = 0;
  try {
    while (epoch < options.maxEpochs && epoch - bestEpoch < options.patience) {
      const learningRate =
        options.learningRate * (0.02 + 0.98 * 0.5 * (1 + Math.cos((Math.PI * epoch) / options.maxEpochs)));
      const order = shuffled(train.count, rng);
      for (let start = 0; start < order.length; start += options.batchRows) {
        const gradient = tf.tidy(() => {
          const batch = toBatch(train, order.subarray(start, start + options.batchRows), width);
          return tf
            .grad(lossOf(batch) as (x: tf.Tensor) => tf.Tensor)(tf.tensor1d(Float32Array.from(parameters)))
            .dataSync();
        });
        adam.step(parameters, gradient as Float32Array, signs, learningRate);
      }
      epoch += 1;
      const loss = validate();
      if (loss < bestLoss) {
        best = parameters.slice();
        bestLoss = loss;
        bestEpoch = epoch;
      }
    }
  } finally {
    tf.dispose([
      mask,
      stopRows.inputs,
      stopRows.offset,
      stopRows.logStretch,
      stopRows.logBase,
      stopRows.target,
      stopRows.weight,
    ]);
  }
  return { parameters: best, validationLoss: bestLoss, epochs: bestEpoch };
}
