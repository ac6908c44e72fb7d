import {
  BEND,
  BENT_AT_ZERO,
  BOUNDED,
  CAPACITY_SCALE,
  FARTHEST_USE,
  FIRST_USES,
  MOST_USE,
  OVERLOAD,
  RISING,
  TIGHTNESS,
} from "@tradewind/predictor/models/network/head.ts";
import {
  ANCHOR_INPUTS,
  CAPACITIES,
  CHANNELS,
  GROUP,
  HEAD,
  KEPT,
  LEAST_SUM,
  LOUDEST,
  MEDIAN,
  PART_NAMES,
  PARTS,
  PLACE_INPUTS,
  QUANTILES,
  WINDOW_INPUTS,
} from "@tradewind/predictor/models/network/shape.ts";
import type { LayerName, PartName, PositiveName } from "@tradewind/predictor/models/network/shape.ts";
import type { Tensors } from "../teacher/td3/engine.ts";
import { ASK, ASKS, QUESTION, QUESTIONS, WINDOWS } from "./lesson.ts";

export type Tensor = ReturnType<Tensors["tensor"]>;
type Weights = Readonly<Record<PartName, Tensor>>;

/** Lessons of one step, as tensors; to be made and used within `tf.tidy`. */
export interface LessonBatch {
  readonly rows: number;
  /** The first windows of all, then the second, …: [windows · rows, inputs]. */
  readonly windows: Tensor;
  /** The row of `windows` that the window of a moment is: [rows · moments, 1]; and what the first layer saw of it. */
  readonly chosen: Tensor;
  readonly last: Tensor;
  /** [rows · moments, anchors] */
  readonly anchors: Tensor;
  /** [rows · moments, questions, …] */
  readonly places: Tensor;
  readonly limitUse: Tensor;
  readonly relativeLoad: Tensor;
  readonly target: Tensor;
  readonly weight: Tensor;
}

export function lessonBatch(tf: Tensors, lessons: readonly Float32Array[]): LessonBatch {
  const rows = lessons.length;
  const windows = new Float32Array(rows * WINDOWS * WINDOW_INPUTS);
  const chosen = new Int32Array(rows * ASKS);
  const last = new Float32Array(rows * ASKS * WINDOW_INPUTS);
  const anchors = new Float32Array(rows * ASKS * ANCHOR_INPUTS);
  const questions = new Float32Array(rows * ASKS * QUESTIONS * QUESTION);
  for (const [i, lesson] of lessons.entries()) {
    const inputsOf = (window: number): Float32Array =>
      lesson.subarray(window * WINDOW_INPUTS, (window + 1) * WINDOW_INPUTS);
    for (let window = 0; window < WINDOWS; window += 1)
      windows.set(inputsOf(window), (window * rows + i) * WINDOW_INPUTS);
    for (let ask = 0; ask < ASKS; ask += 1) {
      const from = WINDOWS * WINDOW_INPUTS + ask * ASK;
      const at = lesson[from] as number;
      chosen[i * ASKS + ask] = at * rows + i;
      last.set(inputsOf(at), (i * ASKS + ask) * WINDOW_INPUTS);
      anchors.set(lesson.subarray(from + 1, from + ASK), (i * ASKS + ask) * ANCHOR_INPUTS);
    }
    questions.set(lesson.subarray(WINDOWS * WINDOW_INPUTS + ASKS * ASK), i * ASKS * QUESTIONS * QUESTION);
  }
  const all = tf.tensor(questions, [rows * ASKS, QUESTIONS, QUESTION]);
  const part = (from: number, size: number): Tensor =>
    tf.slice(all, [0, 0, from], [rows * ASKS, QUESTIONS, size]);
  return {
    rows,
    windows: tf.tensor(windows, [WINDOWS * rows, WINDOW_INPUTS]),
    chosen: tf.tensor(chosen, [rows * ASKS, 1], "int32"),
    last: tf.tensor(last, [rows * ASKS, WINDOW_INPUTS]),
    anchors: tf.tensor(anchors, [rows * ASKS, ANCHOR_INPUTS]),
    places: part(0, PLACE_INPUTS),
    limitUse: part(PLACE_INPUTS, 1),
    relativeLoad: part(PLACE_INPUTS + 1, 1),
    target: part(PLACE_INPUTS + 2, 1),
    weight: part(PLACE_INPUTS + 3, 1),
  };
}

export function weightTensors(tf: Tensors, values: Float32Array): Tensor[] {
  return PART_NAMES.map((name) => {
    const { columns, from, rows } = PARTS[name];
    return tf.tensor(values.slice(from, from + rows * columns), [rows, columns]);
  });
}

const named = (tensors: readonly Tensor[]): Weights =>
  Object.fromEntries(PART_NAMES.map((name, i) => [name, tensors[i]])) as Record<PartName, Tensor>;

/** Two matrices. Its gradients transpose first: the WebAssembly engine is several times slower on products that transpose themselves. */
function product(tf: Tensors, left: Tensor, right: Tensor): Tensor {
  const run = tf.customGrad((...given) => {
    const [a, b, save] = given as unknown as [Tensor, Tensor, (kept: Tensor[]) => void];
    save([a, b]);
    return {
      value: tf.matMul(a, b),
      gradFunc: (slope: Tensor, [first, second]: Tensor[]) => [
        tf.matMul(slope, tf.transpose(second as Tensor)),
        tf.matMul(tf.transpose(first as Tensor), slope),
      ],
    };
  });
  return run(left, right);
}

/** Some rows of a matrix; their gradients are added up where they came from. */
function rowsOf(tf: Tensors, all: Tensor, chosen: Tensor): Tensor {
  const run = tf.customGrad((...given) => {
    const [matrix] = given as unknown as [Tensor];
    return {
      value: tf.gatherND(matrix, chosen),
      gradFunc: (slope: Tensor) => tf.scatterND(chosen, slope, matrix.shape),
    };
  });
  return run(all);
}

/**
 * Fading means of what windows say, as loud as they say it: [windows · rows, channels] of [windows · rows, 2 · channels]. Sums of so many
 * windows are a loop over numbers, and so are their gradients, from the last window to the first.
 */
function fadingMeans(tf: Tensors, said: Tensor, rows: number): Tensor {
  const width = rows * CHANNELS;
  const values = new Float32Array(WINDOWS * width);
  const louds = new Float32Array(WINDOWS * width);
  const bends = new Float32Array(WINDOWS * width);
  const sums = new Float32Array(WINDOWS * width);
  const weights = new Float32Array(WINDOWS * width);
  const run = tf.customGrad((...given) => {
    const [all] = given as unknown as [Tensor];
    const numbers = all.dataSync();
    const means = new Float32Array(WINDOWS * width);
    for (let i = 0; i < means.length; i += 1) {
      const channel = i % CHANNELS;
      const at = 2 * (i - channel) + channel;
      const bent = Math.tanh((numbers[at + CHANNELS] as number) / LOUDEST);
      const loud = Math.exp(LOUDEST * bent);
      const kept = i < width ? 0 : (KEPT[Math.floor(channel / GROUP)] as number);
      values[i] = numbers[at] as number;
      bends[i] = bent;
      louds[i] = loud;
      sums[i] = loud * (values[i] as number) + (kept === 0 ? 0 : kept * (sums[i - width] as number));
      weights[i] = loud + (kept === 0 ? 0 : kept * (weights[i - width] as number));
      means[i] = (sums[i] as number) / ((weights[i] as number) + LEAST_SUM);
    }
    return {
      value: tf.tensor(means, [WINDOWS * rows, CHANNELS]),
      gradFunc: (slope: Tensor) =>
        tf.tensor(slopes(slope.dataSync() as Float32Array), [WINDOWS * rows, 2 * CHANNELS]),
    };
  });
  const slopes = (by: Float32Array): Float32Array => {
    const out = new Float32Array(2 * by.length);
    const ofSums = new Float32Array(width);
    const ofWeights = new Float32Array(width);
    for (let i = by.length - 1; i >= 0; i -= 1) {
      const channel = i % CHANNELS;
      const at = 2 * (i - channel) + channel;
      const place = i % width;
      const kept = KEPT[Math.floor(channel / GROUP)] as number;
      const weight = (weights[i] as number) + LEAST_SUM;
      const bySum = (by[i] as number) / weight + kept * (ofSums[place] as number);
      const byWeight =
        (-(by[i] as number) * (sums[i] as number)) / (weight * weight) + kept * (ofWeights[place] as number);
      ofSums[place] = bySum;
      ofWeights[place] = byWeight;
      const [bent, loud] = [bends[i] as number, louds[i] as number];
      out[at] = bySum * loud;
      out[at + CHANNELS] = (bySum * (values[i] as number) + byWeight) * loud * (1 - bent * bent);
    }
    return out;
  };
  return run(said);
}

/** The network of predictor/models/network as TensorFlow.js has it. */
class Graph {
  private readonly tf: Tensors;
  private readonly weights: Weights;

  constructor(tf: Tensors, tensors: readonly Tensor[]) {
    this.tf = tf;
    this.weights = named(tensors);
  }

  /** Quantiles of every question: [rows · moments, questions, quantiles]. */
  quantiles(batch: LessonBatch): Tensor {
    const { tf } = this;
    const context = this.context(batch);
    const inputs = tf.concat([batch.places, this.uses(context, batch)], 2);
    const one = this.low(this.dense3("low", inputs), context);
    const two = this.high(this.dense3("high", one), context);
    const levels = this.spread(this.dense("levels", context));
    const [first, rest] = tf.split(levels, [1, QUANTILES.length - 1], 2) as [Tensor, Tensor];
    const steps = tf.add(this.dense3("out", two), tf.concat([first, tf.softplus(rest)], 2));
    const upTo = Array.from({ length: QUANTILES.length ** 2 }, (_, i) =>
      Math.floor(i / QUANTILES.length) <= i % QUANTILES.length ? 1 : 0,
    );
    const flat = tf.reshape(steps, [-1, QUANTILES.length]);
    const summed = product(tf, flat, tf.tensor(upTo, [QUANTILES.length, QUANTILES.length]));
    return tf.reshape(summed, steps.shape);
  }

  private context({ anchors, chosen, last, rows, windows }: LessonBatch): Tensor {
    const { tf } = this;
    const seen = this.bent("second", this.bent("first", windows));
    const short = fadingMeans(tf, this.dense("shortSum", seen), rows);
    const long = fadingMeans(
      tf,
      this.dense("longSum", this.bent("third", tf.concat([seen, short], 1))),
      rows,
    );
    const sums = rowsOf(tf, tf.concat([short, long], 1), chosen);
    return this.bent("context", this.bent("fourth", tf.concat([last, sums, anchors], 1)));
  }

  /** What the capacities make of places: [rows · moments, questions, 2 · capacities], two numbers of each. */
  private uses(context: Tensor, { limitUse, relativeLoad }: LessonBatch): Tensor {
    const { tf } = this;
    const [ofLimit, ofProgram] = tf.split(this.spread(this.dense("capacities", context)), 2, 2) as [
      Tensor,
      Tensor,
    ];
    const first = tf.tensor([...FIRST_USES], [1, 1, CAPACITIES]);
    const program = tf.add(relativeLoad, tf.add(tf.mul(CAPACITY_SCALE, ofProgram), first));
    const apart = tf.mul(TIGHTNESS, tf.sub(tf.add(limitUse, ofLimit), program));
    const use = tf.add(program, tf.div(tf.softplus(apart), TIGHTNESS));
    const bent = tf.exp(tf.sub(use, tf.div(tf.softplus(tf.mul(BEND, use)), BEND)));
    const queue = tf.sub(
      tf.div(tf.softplus(tf.mul(OVERLOAD, use)), 2),
      tf.log(tf.sub(1, tf.mul(MOST_USE, bent))),
    );
    const held = tf.mul(FARTHEST_USE, tf.tanh(tf.div(use, FARTHEST_USE)));
    const pairs = tf.stack([tf.div(queue, 2), tf.div(held, 2)], 3);
    return tf.reshape(pairs, [context.shape[0] ?? 0, QUESTIONS, 2 * CAPACITIES]);
  }

  private low(sums: Tensor, context: Tensor): Tensor {
    const { tf } = this;
    const sum = tf.add(sums, this.spread(this.dense("lowBias", context)));
    const [bounded, rising, falling] = tf.split(sum, [BOUNDED, RISING - BOUNDED, HEAD - RISING], 2) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const bent = tf.concat(
      [
        tf.tanh(bounded),
        tf.sub(tf.softplus(rising), BENT_AT_ZERO),
        tf.sub(BENT_AT_ZERO, tf.softplus(tf.neg(falling))),
      ],
      2,
    );
    return tf.mul(bent, this.gate("lowGate", context));
  }

  private high(sums: Tensor, context: Tensor): Tensor {
    const { tf } = this;
    const sum = tf.add(sums, this.spread(this.dense("highBias", context)));
    const [bounded, rising] = tf.split(sum, [BOUNDED, HEAD - BOUNDED], 2) as [Tensor, Tensor];
    return tf.mul(
      tf.concat([tf.mul(2, tf.sigmoid(bounded)), tf.softplus(rising)], 2),
      this.gate("highGate", context),
    );
  }

  private gate(name: LayerName, context: Tensor): Tensor {
    const { tf } = this;
    return tf.mul(2, tf.sigmoid(this.spread(this.dense(name, context))));
  }

  /** For every question of a moment. */
  private spread(row: Tensor): Tensor {
    return this.tf.reshape(row, [row.shape[0] ?? 0, 1, row.shape[1] ?? 0]);
  }

  private dense(name: LayerName, input: Tensor): Tensor {
    const { tf, weights } = this;
    return tf.add(product(tf, input, weights[name]), weights[`${name}Bias`]);
  }

  private bent(name: LayerName, input: Tensor): Tensor {
    const sum = this.dense(name, input);
    return this.tf.mul(sum, this.tf.sigmoid(sum));
  }

  private dense3(name: PositiveName, input: Tensor): Tensor {
    const { tf, weights } = this;
    const flat = tf.reshape(input, [-1, input.shape[2] ?? 0]);
    const out = product(tf, flat, tf.softplus(weights[name]));
    return tf.reshape(out, [input.shape[0] ?? 0, input.shape[1] ?? 0, PARTS[name].columns]);
  }
}

/** Quantiles of ln p95 less the usual one: [rows · moments, questions, quantiles]. */
export const quantilesOf = (tf: Tensors, tensors: readonly Tensor[], batch: LessonBatch): Tensor =>
  new Graph(tf, tensors).quantiles(batch);

/** Place of the question about the place as it is; what is moved follows it. */
export const AS_IT_IS = 2;
/** Of the error of differences between two places in the loss. */
const OF_DIFFERENCES = 3;

/** Pinball loss of all quantiles, and the error of the differences between places that had the same requests. */
export function lossOf(tf: Tensors, quantiles: Tensor, { target, weight }: LessonBatch): Tensor {
  const shares = tf.tensor([...QUANTILES], [1, 1, QUANTILES.length]);
  const off = tf.sub(target, quantiles);
  const pinball = tf.maximum(tf.mul(shares, off), tf.mul(tf.sub(shares, 1), off));
  const levels = tf.div(tf.sum(tf.mul(tf.sum(pinball, 2, true), weight)), tf.add(tf.sum(weight), 1e-6));
  const rows = quantiles.shape[0] ?? 0;
  const medianOff = tf.slice(off, [0, 0, MEDIAN], [rows, QUESTIONS, 1]);
  const part = (all: Tensor, from: number, size: number): Tensor =>
    tf.slice(all, [0, from, 0], [rows, size, 1]);
  const moved = QUESTIONS - AS_IT_IS - 1;
  const apart = tf.abs(tf.sub(part(medianOff, AS_IT_IS + 1, moved), part(medianOff, AS_IT_IS, 1)));
  const both = tf.mul(part(weight, AS_IT_IS + 1, moved), part(weight, AS_IT_IS, 1));
  const differences = tf.div(tf.sum(tf.mul(apart, both)), tf.add(tf.sum(both), 1e-6));
  return tf.add(levels, tf.mul(OF_DIFFERENCES, differences));
}
