import * as tf from "@tensorflow/tfjs-core";
import type { Rng } from "@tradewind/core/rng.ts";
import { standardNormal } from "@tradewind/core/rng.ts";
import { AttentionResidual } from "../endtoend/attention.ts";
import { attentionLayout, attentionShape, FEATURES_PER_SERVICE } from "../endtoend/attention-model.ts";
import type { AttentionModel, AttentionShape, FeatureScale } from "../endtoend/attention-model.ts";
import { isBetter } from "../profile/replacement.ts";
import { attentionResiduals } from "./attention-graph.ts";
import { LEAST_END_TO_END_ROWS, LEAST_ROWS_IN_ALL } from "./end-to-end-rows.ts";
import type { EndToEndRow } from "./end-to-end-rows.ts";

export interface EndToEndSettings {
  /** Width of queries, keys and values; Grad has 2. */
  readonly width: number;
  readonly hidden: number;
  /** The residual stays within this factor either way. */
  readonly largestFactor: number;
  readonly learningRate: number;
  readonly maxSteps: number;
  /** Stops after this many looks at the stop rows without a better loss. */
  readonly patience: number;
  /** Pull of all weights towards zero: `decay · Σ w²`. */
  readonly decay: number;
  /** Trainings from different starts, of which the best on the stop rows is taken. */
  readonly starts: number;
}

export const END_TO_END_DEFAULTS: EndToEndSettings = {
  width: 4,
  hidden: 8,
  largestFactor: 8,
  learningRate: 0.01,
  maxSteps: 600,
  patience: 12,
  decay: 0.0005,
  starts: 2,
};

const STEPS_BETWEEN_LOOKS = 10;

export interface EndToEndJob {
  readonly flow: string;
  readonly percentile: number;
  readonly services: readonly string[];
  /** Oldest first. */
  readonly rows: readonly EndToEndRow[];
  /** The model in use: what the new one has to beat. */
  readonly current: AttentionModel | undefined;
  readonly nowMs: number;
  readonly settings?: Partial<EndToEndSettings>;
}

export type EndToEndOutcome =
  | { readonly kind: "replaced"; readonly model: AttentionModel; readonly previousRatio: number }
  /** What is in use, or the call graph alone, is as good on the later block. */
  | { readonly kind: "kept"; readonly candidateRatio: number; readonly currentRatio: number }
  | { readonly kind: "too-few-rows"; readonly rows: number; readonly needed: number }
  | { readonly kind: "failed"; readonly why: string };

/** Rows by what they are for. No row serves twice. */
export interface EndToEndSets<Row extends EndToEndRow = EndToEndRow> {
  readonly train: readonly Row[];
  readonly stop: readonly Row[];
  /** Later than all others: judges the result. */
  readonly later: readonly Row[];
}

/** Blocks of consecutive rows that stay together. */
const BLOCKS = 25;

/** The last fifth judges; of what comes before, every fifth block of consecutive rows decides when to stop. */
export function splitRows<Row extends EndToEndRow>(rows: readonly Row[]): EndToEndSets<Row> {
  const cut = Math.floor(rows.length * 0.8);
  const size = Math.max(1, Math.ceil(cut / BLOCKS));
  const isStop = (_: Row, at: number): boolean => Math.floor(at / size) % 5 === 2;
  const before = rows.slice(0, cut);
  return {
    train: before.filter((row, at) => !isStop(row, at)),
    stop: before.filter(isStop),
    later: rows.slice(cut),
  };
}

/** Mean of |predicted − measured| / measured, with the residual and without. */
export function endToEndErrors(model: AttentionModel | undefined, rows: readonly EndToEndRow[]): number {
  const residual = model && new AttentionResidual(model);
  let sum = 0;
  for (const { ownTails, meanShares, priorSeconds, tailSeconds } of rows) {
    const predicted = priorSeconds * Math.exp(residual?.evaluate(ownTails, meanShares) ?? 0);
    sum += Math.abs(predicted - tailSeconds) / tailSeconds;
  }
  return sum / Math.max(1, rows.length);
}

/**
 * Trains the residual of one flow and says whether it takes the place of what is in use: only when its error on the later
 * block, which trained neither, is smaller than that of the model in use and of the call graph alone.
 */
export function trainEndToEnd(job: EndToEndJob, rng: Rng): EndToEndOutcome {
  const sets = splitRows(job.rows);
  if (sets.train.length < LEAST_END_TO_END_ROWS) {
    return { kind: "too-few-rows", rows: job.rows.length, needed: LEAST_ROWS_IN_ALL };
  }
  const model = fitEndToEnd(job, sets, rng);
  const current = endToEndErrors(isOfThese(job.current, job) ? job.current : undefined, sets.later);
  const toBeat = Math.min(current, model.errors.priorAbsoluteRatio);
  const candidate = model.errors.meanAbsoluteRatio;
  return isBetter(candidate, toBeat)
    ? { kind: "replaced", model, previousRatio: toBeat }
    : { kind: "kept", candidateRatio: candidate, currentRatio: toBeat };
}

const isOfThese = (model: AttentionModel | undefined, { services }: EndToEndJob): boolean =>
  model !== undefined && model.services.join() === services.join();

/** Trains on the train rows, stops by the stop rows, measures on the later rows; never compares. */
export function fitEndToEnd(job: Omit<EndToEndJob, "rows">, sets: EndToEndSets, rng: Rng): AttentionModel {
  const settings = { ...END_TO_END_DEFAULTS, ...job.settings };
  const untrained: AttentionModel = {
    flow: job.flow,
    percentile: job.percentile,
    version: (job.current?.version ?? 0) + 1,
    trainedAtMs: job.nowMs,
    trainingRows: sets.train.length,
    services: job.services,
    width: settings.width,
    hidden: settings.hidden,
    scales: scalesOf(sets.train, job.services.length),
    bound: Math.log(settings.largestFactor),
    parameters: new Float64Array(),
    errors: { rows: 0, meanAbsoluteRatio: 0, priorAbsoluteRatio: 0 },
  };
  const fitted = Array.from({ length: settings.starts }, () => fitOnce(untrained, sets, settings, rng));
  fitted.sort((a, b) => a.loss - b.loss);
  const parameters = Float64Array.from(fitted[0]?.parameters ?? [], Math.fround);
  const model = { ...untrained, parameters };
  return {
    ...model,
    errors: {
      rows: sets.later.length,
      meanAbsoluteRatio: endToEndErrors(model, sets.later),
      priorAbsoluteRatio: endToEndErrors(undefined, sets.later),
    },
  };
}

function logsOf(rows: readonly EndToEndRow[], at: number): number[] {
  const service = Math.floor(at / FEATURES_PER_SERVICE);
  return rows.flatMap(({ ownTails, meanShares }) => {
    const share = at % FEATURES_PER_SERVICE === 0 ? (meanShares?.[service] ?? 1) : 1;
    const log = Math.log((ownTails[service] ?? Number.NaN) * share);
    return Number.isFinite(log) ? [log] : [];
  });
}

function scalesOf(rows: readonly EndToEndRow[], services: number): FeatureScale[] {
  return Array.from({ length: services * FEATURES_PER_SERVICE }, (_, at) => {
    const logs = logsOf(rows, at);
    if (logs.length === 0) return { centre: 0, scale: 1, low: 0, high: 0 };
    const centre = logs.reduce((sum, log) => sum + log, 0) / logs.length;
    const variance = logs.reduce((sum, log) => sum + (log - centre) ** 2, 0) / logs.length;
    return {
      centre,
      scale: Math.max(0.05, Math.sqrt(variance)),
      low: logs.reduce((low, log) => Math.min(low, log)),
      high: logs.reduce((high, log) => Math.max(high, log)),
    };
  });
}

interface Batch {
  readonly features: tf.Tensor3D;
  /** ln measured − ln of what the call graph says. */
  readonly target: tf.Tensor1D;
}

function toBatch(rows: readonly EndToEndRow[], { scales, services }: AttentionModel): Batch {
  const width = scales.length;
  const features = new Float32Array(rows.length * width);
  for (const [row, { ownTails, meanShares }] of rows.entries()) {
    for (const [at, { centre, scale, low, high }] of scales.entries()) {
      const service = Math.floor(at / FEATURES_PER_SERVICE);
      const share = at % FEATURES_PER_SERVICE === 0 ? (meanShares?.[service] ?? 1) : 1;
      const log = Math.log((ownTails[service] ?? Number.NaN) * share);
      const held = Number.isNaN(log) ? centre : Math.max(low, Math.min(high, log));
      features[row * width + at] = (held - centre) / scale;
    }
  }
  return {
    features: tf.tensor3d(features, [rows.length, services.length, FEATURES_PER_SERVICE]),
    target: tf.tensor1d(
      Float32Array.from(rows, ({ tailSeconds, priorSeconds }) => Math.log(tailSeconds / priorSeconds)),
    ),
  };
}

/** Starts at no residual at all: the head's last weights are zero. */
function initialParameters(shape: AttentionShape, rng: Rng): Float32Array {
  const layout = attentionLayout(shape);
  const parameters = new Float32Array(layout.length);
  for (let at = 0; at < layout.hiddenBiases; at += 1) {
    const inputs = at < layout.hiddenWeights ? FEATURES_PER_SERVICE : shape.services * shape.width;
    parameters[at] = standardNormal(rng) / Math.sqrt(inputs);
  }
  return parameters;
}

/** Adam (Kingma and Ba, 2015) on all train rows at once; every tensor made here is gone when it returns. */
function fitOnce(
  model: AttentionModel,
  sets: EndToEndSets,
  settings: EndToEndSettings,
  rng: Rng,
): { parameters: Float32Array; loss: number } {
  const shape = attentionShape(model);
  const train = toBatch(sets.train, model);
  const stop = toBatch(sets.stop.length === 0 ? sets.train : sets.stop, model);
  const initial = tf.tensor1d(initialParameters(shape, rng));
  const parameters = tf.variable(initial);
  const adam = tf.train.adam(settings.learningRate);
  const lossOf = ({ features, target }: Batch): tf.Scalar => {
    const residuals = attentionResiduals(shape, model.bound, parameters, features);
    return tf.mean(tf.sqrt(tf.add(tf.square(tf.sub(residuals, target)), 1e-6)));
  };
  const cost = (): tf.Scalar => tf.add(lossOf(train), tf.mul(tf.sum(tf.square(parameters)), settings.decay));
  let best = { parameters: parameters.dataSync().slice() as Float32Array, loss: Number.POSITIVE_INFINITY };
  let looksSince = 0;
  for (let step = 0; step < settings.maxSteps && looksSince < settings.patience; step += 1) {
    if (step % STEPS_BETWEEN_LOOKS === 0) {
      const loss = tf.tidy(() => lossOf(stop).dataSync()[0] ?? Number.POSITIVE_INFINITY);
      looksSince += 1;
      if (loss < best.loss) {
        best = { parameters: parameters.dataSync().slice() as Float32Array, loss };
        looksSince = 0;
      }
    }
    adam.minimize(cost, false, [parameters]);
  }
  adam.dispose();
  tf.dispose([train.features, train.target, stop.features, stop.target, initial, parameters]);
  return best;
}
