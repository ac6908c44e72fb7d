import { adamState, adamStep } from "@tradewind/core/students/adam.ts";
import type { AdamState } from "@tradewind/core/students/adam.ts";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { mean } from "@tradewind/core/values/statistics.ts";
import { CURVE } from "@tradewind/predictor/models/network/place-inputs.ts";
import {
  HEAD,
  MEDIAN,
  MIDDLE_80,
  PART_NAMES,
  PARTS,
  PLACE_INPUTS,
  QUANTILES,
  WEIGHT_COUNT,
} from "@tradewind/predictor/models/network/shape.ts";
import type { PartName } from "@tradewind/predictor/models/network/shape.ts";
import type { HeldOut, NetworkErrors } from "@tradewind/predictor/models/network/shipped-form.ts";
import type { Tensors } from "../teacher/td3/engine.ts";
import type { Tensor } from "./graph.ts";
import { AS_IT_IS, lessonBatch, lossOf, quantilesOf, weightTensors } from "./graph.ts";
import { ASKS, LESSON, QUESTION, QUESTIONS } from "./lesson.ts";

/** Weights in training; what ships are the averaged ones. */
export interface ProfileTraining {
  readonly values: Float32Array;
  readonly averaged: Float32Array;
  readonly adam: AdamState<Float32Array>;
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
  return { values, averaged: values.slice(), adam: adamState(values), steps: 0 };
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
    const run = tf.valueAndGrads((...parts) => lossOf(tf, quantilesOf(tf, parts, taken), taken) as never);
    const { grads, value } = run(weightTensors(tf, values));
    for (const [i, each] of grads.entries())
      gradient.set(each.dataSync(), PARTS[PART_NAMES[i] as PartName].from);
    return (value as Tensor).dataSync()[0] ?? Number.NaN;
  });
  if (!Number.isFinite(loss)) throw new Error("a loss of the training is not finite");
  shorten(gradient);
  const rate = rateAt(steps, schedule);
  adamStep(values, gradient, adam, { rate });
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

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));

/** What is true and what network and curve say of it: ln p95 less the usual one, or a difference of two. */
interface JudgedAnswer {
  readonly truth: number;
  readonly network: number;
  readonly curve: number;
}

interface JudgedPlace extends JudgedAnswer {
  readonly isAsked: boolean;
  readonly isInside: boolean;
}

function errorsOf(answers: readonly JudgedAnswer[]): NetworkErrors {
  const errorOf = (said: (answer: JudgedAnswer) => number): number =>
    rounded(
      mean(
        answers.map((answer) => Math.abs(answer.truth - said(answer))),
        0,
      ),
      4,
    );
  return {
    network: errorOf(({ network }) => network),
    curve: errorOf(({ curve }) => curve),
    both: errorOf(({ curve, network }) => (curve + network) / 2),
  };
}

const insideShare = (places: readonly JudgedPlace[]): number =>
  rounded(
    mean(
      places.map(({ isInside }) => Number(isInside)),
      0,
    ),
    3,
  );

/** The place as it is at one moment of a lesson, then those that are moved. */
function judgedPlaces(lesson: Float32Array, quantiles: ArrayLike<number>, ask: number): JudgedPlace[] {
  const [low, high] = MIDDLE_80;
  return Array.from({ length: QUESTIONS - AS_IT_IS }, (_, i) => {
    const question = ask * QUESTIONS + AS_IT_IS + i;
    const from = LESSON - (ASKS * QUESTIONS - question) * QUESTION;
    const row = lesson.subarray(from, from + QUESTION);
    const quantile = (place: number): number => quantiles[question * QUANTILES.length + place] as number;
    const truth = row[PLACE_INPUTS + 2] as number;
    return {
      truth,
      network: quantile(MEDIAN),
      curve: Math.sinh(row[CURVE] as number),
      isAsked: row[PLACE_INPUTS + 3] !== 0,
      isInside: truth >= quantile(low) && truth <= quantile(high),
    };
  });
}

export function judgeProfile(tf: Tensors, values: Float32Array, lessons: readonly Float32Array[]): HeldOut {
  const losses: number[] = [];
  const places: JudgedPlace[] = [];
  const ratios: JudgedAnswer[] = [];
  for (const lesson of lessons) {
    const { loss, quantiles } = tf.tidy(() => {
      const batch = lessonBatch(tf, [lesson]);
      const answers = quantilesOf(tf, weightTensors(tf, values), batch);
      return { loss: lossOf(tf, answers, batch).dataSync()[0] ?? 0, quantiles: answers.dataSync() };
    });
    losses.push(loss);
    for (let ask = 0; ask < ASKS; ask += 1) {
      const [here, ...others] = judgedPlaces(lesson, quantiles, ask);
      if (here?.isAsked !== true) continue;
      const moved = others.filter(({ isAsked }) => isAsked);
      places.push(here, ...moved);
      for (const { curve, network, truth } of moved)
        ratios.push({
          truth: truth - here.truth,
          network: network - here.network,
          curve: curve - here.curve,
        });
    }
  }
  const knee = places.filter(({ truth }) => truth > Math.LN2);
  return {
    services: lessons.length,
    loss: rounded(mean(losses), 4),
    places: errorsOf(places),
    knee: errorsOf(knee),
    ratios: errorsOf(ratios),
    coverage: { all: insideShare(places), knee: insideShare(knee) },
  };
}
