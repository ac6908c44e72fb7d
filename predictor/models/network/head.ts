import { dense } from "./dense.ts";
import type { PlaceInputs } from "./place-inputs.ts";
import { CAPACITIES, HEAD, HEAD_INPUTS, MEDIAN, PARTS, PLACE_INPUTS, QUANTILES } from "./shape.ts";
import type { PositiveName } from "./shape.ts";
import { logistic, softplus, squash, squashSlope } from "./smooth.ts";

/** What the network says of the p95 of the self time at one place. */
export interface NetworkAnswer {
  /** Quantiles of ln p95 (s), see QUANTILES; ascending. */
  readonly logs: Float64Array;
  /** d median ln p95 / d ln cores <= 0, ln load >= 0, ln memory limit <= 0. */
  byCores: number;
  byLoad: number;
  byMemory: number;
  /** ln p95 by the queueing curve alone. */
  curveLog: number;
}

export const emptyNetworkAnswer = (): NetworkAnswer => ({
  logs: new Float64Array(QUANTILES.length),
  byCores: 0,
  byLoad: 0,
  byMemory: 0,
  curveLog: 0,
});

/** What one state makes of the head. */
export interface HeadContext {
  readonly lowBias: Float64Array;
  readonly lowGate: Float64Array;
  readonly highBias: Float64Array;
  readonly highGate: Float64Array;
  /** Of the quantiles: the lowest, and by how much each is above the one below it. */
  readonly levels: Float64Array;
  /** What each capacity adds to the use of the limit, and to the load over the usual. */
  readonly capacities: Float64Array;
}

/** How sharply the tighter of two capacities counts. */
export const TIGHTNESS = 4;
/** ln use at the usual load of each capacity before anything was learnt. */
export const FIRST_USES = [-0.3, -0.8, -1.6] as const;
export const CAPACITY_SCALE = 3;
/** How sharply a queue bends at its capacity, and how much of it may be used. */
export const BEND = 8;
export const MOST_USE = 0.97;
export const OVERLOAD = 6;
export const FARTHEST_USE = 4;
/** Units of the first layer that are bounded, then those that bend up; the rest bend down. */
export const BOUNDED = Math.floor(HEAD / 3);
export const RISING = Math.floor((2 * HEAD) / 3);
/** Puts a bent unit to 0 where its sum is. */
export const BENT_AT_ZERO = Math.LN2;

/**
 * Monotone by construction: the inputs only rise as a place gets worse, each weight from them to an answer is softplus of a number, gates
 * are above 0 and follow from the state alone. Quantiles never cross: each adds what cannot fall to the one below it.
 */
export class Head {
  private readonly weights: Float64Array;
  /** As they are, for the way back, and transposed, for the way there. */
  private readonly low: Float64Array;
  private readonly lowTurned: Float64Array;
  private readonly high: Float64Array;
  private readonly highTurned: Float64Array;
  /** What each unit adds to each quantile, and to the median, with what it adds to those below. */
  private readonly out: Float64Array;
  private readonly outMedian: Float64Array;
  private readonly inputs = new Float64Array(HEAD_INPUTS);
  private readonly byUse = new Float64Array(2 * CAPACITIES);
  /** Share of the limit in each capacity's use. */
  private readonly ofLimit = new Float64Array(CAPACITIES);
  private readonly one = new Float64Array(HEAD);
  private readonly oneSlopes = new Float64Array(HEAD);
  private readonly two = new Float64Array(HEAD);
  private readonly twoSlopes = new Float64Array(HEAD);
  private readonly back = new Float64Array(HEAD);

  constructor(weights: Float64Array) {
    this.weights = weights;
    const positive = (name: PositiveName): Float64Array => {
      const { columns, from, rows } = PARTS[name];
      return weights.slice(from, from + rows * columns).map(softplus);
    };
    this.low = positive("low");
    this.lowTurned = turned(this.low, HEAD_INPUTS);
    this.high = positive("high");
    this.highTurned = turned(this.high, HEAD);
    this.out = turned(positive("out"), HEAD);
    this.outMedian = new Float64Array(HEAD);
    for (let q = 0; q <= MEDIAN; q += 1)
      for (let j = 0; j < HEAD; j += 1)
        this.outMedian[j] = (this.outMedian[j] as number) + (this.out[q * HEAD + j] as number);
  }

  contextOf(state: Float64Array): HeadContext {
    const layer = (
      name: "lowBias" | "lowGate" | "highBias" | "highGate" | "levels" | "capacities",
    ): Float64Array => {
      const out = new Float64Array(PARTS[name].columns);
      dense(this.weights, name, state, out);
      return out;
    };
    const gate = (name: "lowGate" | "highGate"): Float64Array =>
      layer(name).map((each) => 2 * logistic(each));
    const levels = layer("levels").map((each, i) => (i === 0 ? each : softplus(each)));
    return {
      lowBias: layer("lowBias"),
      lowGate: gate("lowGate"),
      highBias: layer("highBias"),
      highGate: gate("highGate"),
      levels,
      capacities: layer("capacities"),
    };
  }

  /** @param time ln of the usual p95, which answers are relative to */
  answer(
    context: HeadContext,
    place: PlaceInputs,
    time: number,
    answer: NetworkAnswer,
    isTimeAlone = false,
  ): void {
    this.inputs.set(place.values);
    this.takeUses(context, place);
    this.forward(context);
    const { out, two } = this;
    let log = time;
    for (let q = 0; q < QUANTILES.length; q += 1) {
      log += (context.levels[q] as number) + dot(out, q * HEAD, two);
      answer.logs[q] = log;
    }
    if (!isTimeAlone) this.slopes(context, place, answer);
  }

  private takeUses({ capacities }: HeadContext, { limitUse, relativeLoad }: PlaceInputs): void {
    const { byUse, inputs, ofLimit } = this;
    for (let k = 0; k < CAPACITIES; k += 1) {
      const ofProgram =
        relativeLoad + CAPACITY_SCALE * (capacities[CAPACITIES + k] as number) + (FIRST_USES[k] as number);
      const apart = TIGHTNESS * (limitUse + (capacities[k] as number) - ofProgram);
      const use = ofProgram + softplus(apart) / TIGHTNESS;
      const bent = Math.exp(use - softplus(BEND * use) / BEND);
      const full = 1 - MOST_USE * bent;
      const at = PLACE_INPUTS + 2 * k;
      inputs[at] = (softplus(OVERLOAD * use) / 2 - Math.log(full)) / 2;
      byUse[2 * k] =
        ((MOST_USE * bent * (1 - logistic(BEND * use))) / full + (OVERLOAD * logistic(OVERLOAD * use)) / 2) /
        2;
      const held = squash(use, FARTHEST_USE);
      inputs[at + 1] = held / 2;
      byUse[2 * k + 1] = squashSlope(held, FARTHEST_USE) / 2;
      ofLimit[k] = logistic(apart);
    }
  }

  private forward({ highBias, highGate, lowBias, lowGate }: HeadContext): void {
    const { highTurned, inputs, lowTurned, one, oneSlopes, two, twoSlopes } = this;
    for (let j = 0; j < HEAD; j += 1) {
      const sum = (lowBias[j] as number) + dot(lowTurned, j * HEAD_INPUTS, inputs);
      const gate = lowGate[j] as number;
      const small = Math.exp(-Math.abs(sum));
      if (j < BOUNDED) {
        const square = small * small;
        const size = (1 - square) / (1 + square);
        one[j] = gate * (sum > 0 ? size : -size);
        oneSlopes[j] = gate * (1 - size * size);
        continue;
      }
      const isRising = j < RISING;
      const value = isRising === sum > 0 ? Math.abs(sum) + Math.log(1 + small) : Math.log(1 + small);
      one[j] = isRising ? gate * (value - BENT_AT_ZERO) : gate * (BENT_AT_ZERO - value);
      oneSlopes[j] = (gate * (isRising === sum > 0 ? 1 : small)) / (1 + small);
    }
    for (let j = 0; j < HEAD; j += 1) {
      const sum = (highBias[j] as number) + dot(highTurned, j * HEAD, one);
      const gate = highGate[j] as number;
      const small = Math.exp(-Math.abs(sum));
      const share = (sum > 0 ? 1 : small) / (1 + small);
      if (j < BOUNDED) {
        two[j] = gate * 2 * share;
        twoSlopes[j] = gate * 2 * share * (1 - share);
      } else {
        two[j] = gate * (Math.max(0, sum) + Math.log(1 + small));
        twoSlopes[j] = gate * share;
      }
    }
  }

  /** One pass back from the median. */
  private slopes(
    context: HeadContext,
    { byCores, byLoad, byMemory, isLimited }: PlaceInputs,
    answer: NetworkAnswer,
  ): void {
    const { back, byUse, high, low, ofLimit, one: first, oneSlopes, outMedian, twoSlopes } = this;
    for (let j = 0; j < HEAD; j += 1) back[j] = (outMedian[j] as number) * (twoSlopes[j] as number);
    for (let i = 0; i < HEAD; i += 1) first[i] = dot(high, i * HEAD, back) * (oneSlopes[i] as number);
    let [cores, load, memory] = [0, 0, 0];
    for (let i = 0; i < HEAD_INPUTS; i += 1) {
      const sum = dot(low, i * HEAD, first);
      if (i < PLACE_INPUTS) {
        cores += sum * (byCores[i] as number);
        load += sum * (byLoad[i] as number);
        memory += sum * (byMemory[i] as number);
        continue;
      }
      const k = i - PLACE_INPUTS;
      const byThis = sum * (byUse[k] as number);
      load += byThis;
      if (isLimited) cores -= byThis * (ofLimit[k >> 1] as number);
    }
    answer.byCores = cores;
    answer.byLoad = load;
    answer.byMemory = memory;
  }
}

function turned(matrix: Float64Array, rows: number): Float64Array {
  const columns = matrix.length / rows;
  return Float64Array.from(matrix, (_, i) => matrix[(i % rows) * columns + Math.floor(i / rows)] as number);
}

/** Product of a row that begins at `from` with a vector, whose length is a multiple of four: four sums need not wait for each other. */
function dot(rows: Float64Array, from: number, vector: Float64Array): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let i = 0; i < vector.length; i += 4) {
    a += (rows[from + i] as number) * (vector[i] as number);
    b += (rows[from + i + 1] as number) * (vector[i + 1] as number);
    c += (rows[from + i + 2] as number) * (vector[i + 2] as number);
    d += (rows[from + i + 3] as number) * (vector[i + 3] as number);
  }
  return a + b + (c + d);
}
