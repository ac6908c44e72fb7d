import { STUDENT_PARAMETERS } from "../contract/students.ts";
import { standardNormal } from "../values/rng.ts";
import type { Rng } from "../values/rng.ts";
import { adamState, adamStep } from "./adam.ts";
import { ACTIONS, AT, INPUTS, LAYER_NORM_FLOOR, Student, UNITS } from "./student.ts";
import type { StudentActions } from "./student.ts";

/** What a student could see, and what it should have done: CPU size, memory size, replicas, each in [-1, 1]. */
export interface Pair {
  readonly inputs: readonly number[];
  readonly actions: readonly [number, number, number];
}

/** Beyond this an action is acted on (DRPC, Alg. 2). */
export const ACTED_ON = 0.5;
/** Pairs in which the teacher acts count so much more: most say "nothing". */
const ACTING_WEIGHT = 4;
const BATCH = 64;
const RATES = { from: 1e-3, to: 1e-4 };
/** Of AdamW. */
const DECAY = 1e-4;

export interface TrainingOptions {
  readonly epochs: number;
  readonly rng: Rng;
  readonly onEpoch?: (epoch: number, meanSquaredError: number) => void;
}

/** Minimises the mean squared difference of actions (DRPC, Eq. 9) by AdamW. @returns 643 numbers, as 32-bit floats keep them */
export function trainStudent(
  pairs: readonly Pair[],
  { epochs, onEpoch, rng }: TrainingOptions,
): Float64Array {
  const p = drawn(rng);
  const gradient = new Float64Array(STUDENT_PARAMETERS);
  const pass = new Pass(p, gradient);
  const adam = adamState(p);
  const order = pairs.map((_, i) => i);
  for (let epoch = 0; epoch < epochs; epoch += 1) {
    shuffle(order, rng);
    const rate = RATES.to + 0.5 * (RATES.from - RATES.to) * (1 + Math.cos((Math.PI * epoch) / epochs));
    let sum = 0;
    for (let from = 0; from < order.length; from += BATCH) {
      const batch = order.slice(from, from + BATCH);
      gradient.fill(0);
      for (const i of batch) {
        const pair = pairs[i] as Pair;
        sum += pass.learn(pair, weightOf(pair) / batch.length);
      }
      adamStep(p, gradient, adam, { rate, decay: DECAY });
    }
    onEpoch?.(epoch, sum / Math.max(1, pairs.length));
  }
  return Float64Array.from(Float32Array.from(p));
}

const isActing = ({ actions }: Pair): boolean => actions.some((action) => Math.abs(action) > ACTED_ON);
const weightOf = (pair: Pair): number => (isActing(pair) ? ACTING_WEIGHT : 1);

export interface Agreement {
  readonly pairs: number;
  readonly mse: number;
  /** Share of pairs in which all three actions, as acted on (less, keep, more), are the teacher's. */
  readonly agreement: number;
  /** The same over the pairs in which the teacher acts; undefined without one. */
  readonly agreementWhenActing: number | undefined;
}

export function agreementOf(parameters: Float64Array, pairs: readonly Pair[]): Agreement {
  const student = new Student(parameters);
  let [squares, agreed, acting, agreedActing] = [0, 0, 0, 0];
  for (const pair of pairs) {
    const acted = student.act(pair.inputs);
    const acts = [acted.cpu, acted.memory, acted.replicas];
    const isSame = agrees(acted, pair.actions);
    squares += acts.reduce((sum, act, i) => sum + (act - (pair.actions[i] ?? 0)) ** 2, 0) / ACTIONS;
    agreed += Number(isSame);
    acting += Number(isActing(pair));
    agreedActing += Number(isSame && isActing(pair));
  }
  const all = Math.max(1, pairs.length);
  return {
    pairs: pairs.length,
    mse: squares / all,
    agreement: agreed / all,
    agreementWhenActing: acting === 0 ? undefined : agreedActing / acting,
  };
}

/** All three actions, as acted on (less, keep, more), are the teacher's. */
const agrees = ({ cpu, memory, replicas }: StudentActions, actions: Pair["actions"]): boolean =>
  [cpu, memory, replicas].every((act, i) => sign(act) === sign(actions[i] ?? 0));

const sign = (action: number): number => (action > ACTED_ON ? 1 : action < -ACTED_ON ? -1 : 0);

/** He's start: weights as wide as the inputs of a unit allow; scales 1. */
function drawn(rng: Rng): Float64Array {
  const p = new Float64Array(STUDENT_PARAMETERS);
  const fill = (at: number, count: number, fan: number): void => {
    for (let i = at; i < at + count; i += 1) p[i] = standardNormal(rng) * Math.sqrt(2 / fan);
  };
  fill(AT.first, INPUTS * UNITS, INPUTS);
  p.fill(1, AT.scale, AT.scale + UNITS);
  fill(AT.second, UNITS * UNITS, UNITS);
  fill(AT.last, UNITS * ACTIONS, 4 * UNITS);
  return p;
}

/** One pair forwards and backwards; adds to the gradient. */
class Pass {
  private readonly p: Float64Array;
  private readonly g: Float64Array;
  private readonly normal = new Float64Array(UNITS);
  private readonly one = new Float64Array(UNITS);
  private readonly two = new Float64Array(UNITS);
  private readonly toOne = new Float64Array(UNITS);
  private readonly toTwo = new Float64Array(UNITS);
  private readonly toNormal = new Float64Array(UNITS);
  private deviation = 1;

  constructor(p: Float64Array, g: Float64Array) {
    this.p = p;
    this.g = g;
  }

  /** @returns the mean squared error before */
  learn({ actions, inputs }: Pair, weight: number): number {
    const { p, toOne, toTwo } = this;
    this.forward(inputs);
    toTwo.fill(0);
    let squares = 0;
    for (let a = 0; a < ACTIONS; a += 1) {
      let sum = p[AT.lastBias + a] as number;
      const row = AT.last + a * UNITS;
      for (let i = 0; i < UNITS; i += 1) sum += (p[row + i] as number) * (this.two[i] as number);
      const act = Math.tanh(sum);
      const off = act - (actions[a] ?? 0);
      squares += (off * off) / ACTIONS;
      this.backLast(a, ((2 * weight * off) / ACTIONS) * (1 - act * act));
    }
    toOne.fill(0);
    this.backDense({ to: toTwo, values: this.two, below: this.one, toBelow: toOne });
    this.backFirst(inputs);
    return squares;
  }

  private forward(inputs: readonly number[]): void {
    const { normal, one, p, two } = this;
    for (let unit = 0; unit < UNITS; unit += 1) {
      let sum = p[AT.firstBias + unit] as number;
      for (let i = 0; i < INPUTS; i += 1)
        sum += (p[AT.first + unit * INPUTS + i] as number) * (inputs[i] ?? 0);
      normal[unit] = sum;
    }
    const mean = normal.reduce((sum, value) => sum + value, 0) / UNITS;
    const variance = normal.reduce((sum, value) => sum + (value - mean) ** 2, 0) / UNITS;
    this.deviation = Math.sqrt(variance + LAYER_NORM_FLOOR);
    for (let unit = 0; unit < UNITS; unit += 1) {
      normal[unit] = ((normal[unit] as number) - mean) / this.deviation;
      one[unit] = Math.max(
        0,
        (normal[unit] as number) * (p[AT.scale + unit] as number) + (p[AT.shift + unit] as number),
      );
    }
    for (let unit = 0; unit < UNITS; unit += 1) {
      let sum = p[AT.secondBias + unit] as number;
      for (let i = 0; i < UNITS; i += 1)
        sum += (p[AT.second + unit * UNITS + i] as number) * (one[i] as number);
      two[unit] = Math.max(0, sum);
    }
  }

  private backLast(action: number, slope: number): void {
    const { g, p, toTwo, two } = this;
    const row = AT.last + action * UNITS;
    g[AT.lastBias + action] = (g[AT.lastBias + action] as number) + slope;
    for (let i = 0; i < UNITS; i += 1) {
      g[row + i] = (g[row + i] as number) + slope * (two[i] as number);
      toTwo[i] = (toTwo[i] as number) + slope * (p[row + i] as number);
    }
  }

  /** The second layer. */
  private backDense(layer: {
    readonly to: Float64Array;
    readonly values: Float64Array;
    readonly below: Float64Array;
    readonly toBelow: Float64Array;
  }): void {
    const { below, to, toBelow, values } = layer;
    const { g, p } = this;
    for (let unit = 0; unit < UNITS; unit += 1) {
      if ((values[unit] as number) <= 0) continue;
      const slope = to[unit] as number;
      const row = AT.second + unit * UNITS;
      g[AT.secondBias + unit] = (g[AT.secondBias + unit] as number) + slope;
      for (let i = 0; i < UNITS; i += 1) {
        g[row + i] = (g[row + i] as number) + slope * (below[i] as number);
        toBelow[i] = (toBelow[i] as number) + slope * (p[row + i] as number);
      }
    }
  }

  /** ReLU, LayerNorm and the first layer. */
  private backFirst(inputs: readonly number[]): void {
    const { deviation, g, normal, one, p, toNormal, toOne } = this;
    let [sum, product] = [0, 0];
    for (let unit = 0; unit < UNITS; unit += 1) {
      const slope = (one[unit] as number) > 0 ? (toOne[unit] as number) : 0;
      g[AT.scale + unit] = (g[AT.scale + unit] as number) + slope * (normal[unit] as number);
      g[AT.shift + unit] = (g[AT.shift + unit] as number) + slope;
      const inner = slope * (p[AT.scale + unit] as number);
      toNormal[unit] = inner;
      sum += inner / UNITS;
      product += (inner * (normal[unit] as number)) / UNITS;
    }
    for (let unit = 0; unit < UNITS; unit += 1) {
      const slope = ((toNormal[unit] as number) - sum - (normal[unit] as number) * product) / deviation;
      g[AT.firstBias + unit] = (g[AT.firstBias + unit] as number) + slope;
      const row = AT.first + unit * INPUTS;
      for (let i = 0; i < INPUTS; i += 1) g[row + i] = (g[row + i] as number) + slope * (inputs[i] ?? 0);
    }
  }
}

/**
 * The gradient of the squared error of one pair.
 * @public for those who check it
 */
export function gradientOf(parameters: Float64Array, pair: Pair): Float64Array {
  const gradient = new Float64Array(STUDENT_PARAMETERS);
  new Pass(parameters, gradient).learn(pair, 1);
  return gradient;
}

function shuffle(order: number[], rng: Rng): void {
  for (let i = order.length - 1; i > 0; i -= 1) {
    const j = Math.floor(rng() * (i + 1));
    [order[i], order[j]] = [order[j] as number, order[i] as number];
  }
}
