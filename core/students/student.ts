import { STUDENT_PARAMETERS } from "../contract/students.ts";

/** Inputs in their order, as {@link StudentInputs} names them, and units of both hidden layers. */
export const INPUTS = 5;
export const UNITS = 20;
export const ACTIONS = 3;
/** Keeps LayerNorm from dividing by nothing where all units agree. */
export const LAYER_NORM_FLOOR = 1e-5;

/** Where each part begins in the one vector of parameters: weights by unit, then biases. */
export const AT = {
  first: 0,
  firstBias: INPUTS * UNITS,
  scale: INPUTS * UNITS + UNITS,
  shift: INPUTS * UNITS + 2 * UNITS,
  second: INPUTS * UNITS + 3 * UNITS,
  secondBias: INPUTS * UNITS + 3 * UNITS + UNITS * UNITS,
  last: INPUTS * UNITS + 4 * UNITS + UNITS * UNITS,
  lastBias: INPUTS * UNITS + 4 * UNITS + UNITS * UNITS + UNITS * ACTIONS,
} as const;

/** CPU size, memory size and replicas of a deployment, each in [-1, 1]: below -0.5 take back, above 0.5 add, in between keep. */
export interface StudentActions {
  readonly cpu: number;
  readonly memory: number;
  readonly replicas: number;
}

/**
 * DRPC's student (§VI-C-1: 643 parameters): 5-20, LayerNorm, ReLU, 20-20, ReLU, 20-3, tanh. By closed form on typed arrays; allocates
 * nothing but its answer.
 */
export class Student {
  readonly parameters: Float64Array;
  private readonly one = new Float64Array(UNITS);
  private readonly two = new Float64Array(UNITS);
  private readonly out = new Float64Array(ACTIONS);

  /** @throws RangeError when there are not {@link STUDENT_PARAMETERS} numbers */
  constructor(parameters: Float64Array) {
    if (parameters.length !== STUDENT_PARAMETERS) {
      throw new RangeError(`a student has ${STUDENT_PARAMETERS} parameters, not ${parameters.length}`);
    }
    this.parameters = parameters;
  }

  /** @param inputs five numbers; what is not finite comes out as NaN, on which nobody acts */
  act(inputs: ArrayLike<number>): StudentActions {
    const { one, out, parameters: p, two } = this;
    dense(p, { from: inputs, to: one, weights: AT.first, biases: AT.firstBias });
    normalise(one, p);
    relu(one);
    dense(p, { from: one, to: two, weights: AT.second, biases: AT.secondBias });
    relu(two);
    dense(p, { from: two, to: out, weights: AT.last, biases: AT.lastBias });
    const [cpu = 0, memory = 0, replicas = 0] = out;
    return { cpu: Math.tanh(cpu), memory: Math.tanh(memory), replicas: Math.tanh(replicas) };
  }
}

interface Layer {
  readonly from: ArrayLike<number>;
  readonly to: Float64Array;
  readonly weights: number;
  readonly biases: number;
}

function dense(p: Float64Array, { biases, from, to, weights }: Layer): void {
  const width = to.length;
  const height = weights === AT.first ? INPUTS : UNITS;
  for (let unit = 0; unit < width; unit += 1) {
    let sum = p[biases + unit] as number;
    const row = weights + unit * height;
    for (let i = 0; i < height; i += 1) sum += (p[row + i] as number) * (from[i] as number);
    to[unit] = sum;
  }
}

/** Mean 0 and variance 1 over the units, then the learnt scale and shift. */
function normalise(values: Float64Array, p: Float64Array): void {
  let mean = 0;
  for (let i = 0; i < UNITS; i += 1) mean += values[i] as number;
  mean /= UNITS;
  let variance = 0;
  for (let i = 0; i < UNITS; i += 1) variance += ((values[i] as number) - mean) ** 2;
  const deviation = Math.sqrt(variance / UNITS + LAYER_NORM_FLOOR);
  for (let i = 0; i < UNITS; i += 1) {
    const normal = ((values[i] as number) - mean) / deviation;
    values[i] = normal * (p[AT.scale + i] as number) + (p[AT.shift + i] as number);
  }
}

function relu(values: Float64Array): void {
  for (let i = 0; i < UNITS; i += 1) values[i] = Math.max(0, values[i] as number);
}
