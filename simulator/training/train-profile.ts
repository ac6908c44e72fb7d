import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import {
  HEAD,
  MEDIAN,
  PART_NAMES,
  PARTS,
  PLACE_INPUTS,
  WEIGHT_COUNT,
  WINDOW_INPUTS,
} from "@tradewind/predictor/models/network/shape.ts";
import type { PartName } from "@tradewind/predictor/models/network/shape.ts";
import type { HeldOut, NetworkErrors } from "@tradewind/predictor/models/network/shipped-form.ts";
import type { Tensors } from "../teacher/td3/engine.ts";
import { adamState, adamStep } from "../teacher/td3/update.ts";
import type { AdamState } from "../teacher/td3/update.ts";
import type { Tensor } from "./graph.ts";
import { AS_IT_IS, lessonBatch, lossOf, quantilesOf, weightTensors } from "./graph.ts";
import { ASK, ASKS, QUESTION, QUESTIONS, WINDOWS } from "./lesson.ts";

/** Weights in training; what ships are the averaged ones. */
export interface ProfileTraining {
  readonly values: Float32Array;
  readonly averaged: Float32Array;
  readonly adam: AdamState;
  steps: number;
}

/** Where the numbers of each part begin: deviation, and what they are about. */
const STARTS: Partial<Readonly<Record<PartName, readonly [deviation: number, middle: number]>>> = {
  low: [0.3, -2],
  high: [0.3, -3],
  out: [0.3, -5],
  capacities: [0.02, 0],
  levels: [0.02, 0],
};
const FIRST_LEVEL = -3.5;
const FIRST_STEP = -3;

export function newTraining(seed: number): ProfileTraining {
  const rng = seededRng(seed);
  const values = new Float32Array(WEIGHT_COUNT);
  for (const name of PART_NAMES) {
    const { columns, from, rows } = PARTS[name];
    const isBias = name.endsWith("Bias") && rows === 1;
    const [deviation, middle] = STARTS[name] ?? (isBias ? [0, 0] : [1 / Math.sqrt(rows), 0]);
    for (let i = from; i < from + rows * columns; i += 1)
      values[i] = middle + deviation * standardNormal(rng);
  }
  // The lowest quantile begins below the usual time, and each next one above the one before it.
  const { columns, from } = PARTS.levelsBias;
  for (let i = 0; i < columns; i += 1) values[from + i] = i === 0 ? FIRST_LEVEL : FIRST_STEP;
  const { out } = PARTS;
  for (let j = 0; j < HEAD; j += 1) values[out.from + j * out.columns] = -2 + 0.3 * standardNormal(rng);
  return { values, averaged: values.slice(), adam: adamState(WEIGHT_COUNT), steps: 0 };
}

export interface TrainingSchedule {
  readonly steps: number;
  /** Services of a step. */
  readonly batch: number;
  readonly seed: number;
}

const WARM_UP_STEPS = 50;
const LARGEST_RATE = 2e-3;
const LEAST_RATE = 2e-5;
/** Longest gradient that is followed as it is. */
const LONGEST = 1;
const DECAY = 1e-4;
const AVERAGED = 0.998;

/** Rises, then falls as half a cosine. */
function rateAt(step: number, { steps }: TrainingSchedule): number {
  if (step < WARM_UP_STEPS) return (LARGEST_RATE * (step + 1)) / WARM_UP_STEPS;
  const done = Math.min(1, (step - WARM_UP_STEPS) / Math.max(1, steps - WARM_UP_STEPS));
  return LEAST_RATE + ((LARGEST_RATE - LEAST_RATE) * (1 + Math.cos(Math.PI * done))) / 2;
}

/** One step; its services follow from the seed and the number of the step. @returns the loss before */
export function trainStep(
  tf: Tensors,
  training: ProfileTraining,
  lessons: readonly Float32Array[],
  schedule: TrainingSchedule,
): number {
  const { adam, averaged, steps, values } = training;
  const rng = seededRng(schedule.seed * 1_000_003 + steps);
  const batch = Array.from({ length: schedule.batch }, () => chosen(lessons, rng));
  const gradient = new Float32Array(WEIGHT_COUNT);
  const loss = tf.tidy(() => {
    const taken = lessonBatch(tf, batch);
    const run = tf.valueAndGrads((...parts) => lossOf(tf, parts, taken) as never);
    const { grads, value } = run(weightTensors(tf, values));
    for (const [i, each] of grads.entries())
      gradient.set(each.dataSync(), PARTS[PART_NAMES[i] as PartName].from);
    return (value as Tensor).dataSync()[0] ?? Number.NaN;
  });
  if (!Number.isFinite(loss)) throw new Error("a loss of the training is not finite");
  shorten(gradient);
  const rate = rateAt(steps, schedule);
  adamStep(values, gradient, adam, rate);
  const kept = Math.min(AVERAGED, (1 + steps) / (10 + steps));
  for (let i = 0; i < values.length; i += 1) {
    values[i] = (values[i] as number) * (1 - rate * DECAY);
    averaged[i] = kept * (averaged[i] as number) + (1 - kept) * (values[i] as number);
  }
  training.steps += 1;
  return loss;
}

function chosen(lessons: readonly Float32Array[], rng: Rng): Float32Array {
  const lesson = lessons[Math.floor(rng() * lessons.length)];
  if (lesson === undefined) throw new RangeError("no service to train on");
  return lesson;
}

function shorten(gradient: Float32Array): void {
  let square = 0;
  for (const each of gradient) square += each * each;
  const length = Math.sqrt(square);
  if (length <= LONGEST) return;
  for (let i = 0; i < gradient.length; i += 1) gradient[i] = ((gradient[i] as number) * LONGEST) / length;
}

const CURVE_AT = 2;
const [LOW, HIGH] = [1, 5];

class Tally {
  private count = 0;
  private network = 0;
  private curve = 0;
  private both = 0;

  add(truth: number, network: number, curve: number): void {
    this.count += 1;
    this.network += Math.abs(truth - network);
    this.curve += Math.abs(truth - curve);
    this.both += Math.abs(truth - (network + curve) / 2);
  }

  get errors(): NetworkErrors {
    const of = (sum: number): number => Math.round((1e4 * sum) / Math.max(1, this.count)) / 1e4;
    return { network: of(this.network), curve: of(this.curve), both: of(this.both) };
  }
}

class Share {
  private count = 0;
  private inside = 0;

  add(isInside: boolean): void {
    this.count += 1;
    if (isInside) this.inside += 1;
  }

  get share(): number {
    return Math.round((1e3 * this.inside) / Math.max(1, this.count)) / 1e3;
  }
}

export function judgeProfile(tf: Tensors, values: Float32Array, lessons: readonly Float32Array[]): HeldOut {
  const [places, knee, ratios] = [new Tally(), new Tally(), new Tally()];
  const [all, atKnee] = [new Share(), new Share()];
  let loss = 0;
  for (const lesson of lessons) {
    const { ofLesson, quantiles } = tf.tidy(() => {
      const batch = lessonBatch(tf, [lesson]);
      const tensors = weightTensors(tf, values);
      return {
        ofLesson: lossOf(tf, tensors, batch).dataSync()[0] ?? 0,
        quantiles: quantilesOf(tf, tensors, batch).dataSync(),
      };
    });
    loss += ofLesson / lessons.length;
    const questions = lesson.subarray(WINDOWS * WINDOW_INPUTS + ASKS * ASK);
    for (let ask = 0; ask < ASKS; ask += 1) {
      const said = Array.from({ length: QUESTIONS }, (_, i) => {
        const at = ask * QUESTIONS + i;
        const row = questions.subarray(at * QUESTION, (at + 1) * QUESTION);
        const own = quantiles.subarray(at * QUANTILE_COUNT, (at + 1) * QUANTILE_COUNT);
        return {
          weight: row[PLACE_INPUTS + 3] as number,
          truth: row[PLACE_INPUTS + 2] as number,
          network: own[MEDIAN] as number,
          curve: Math.sinh(row[CURVE_AT] as number),
          low: own[LOW] as number,
          high: own[HIGH] as number,
        };
      });
      const here = said[AS_IT_IS];
      for (const each of said.slice(AS_IT_IS)) {
        if (here === undefined || here.weight === 0 || each.weight === 0) continue;
        const isKnee = each.truth > Math.LN2;
        const isInside = each.truth >= each.low && each.truth <= each.high;
        places.add(each.truth, each.network, each.curve);
        all.add(isInside);
        if (isKnee) {
          knee.add(each.truth, each.network, each.curve);
          atKnee.add(isInside);
        }
        if (each !== here)
          ratios.add(each.truth - here.truth, each.network - here.network, each.curve - here.curve);
      }
    }
  }
  return {
    services: lessons.length,
    loss: Math.round(1e4 * loss) / 1e4,
    places: places.errors,
    knee: knee.errors,
    ratios: ratios.errors,
    coverage: { all: all.share, knee: atKnee.share },
  };
}

const QUANTILE_COUNT = PARTS.out.columns;
