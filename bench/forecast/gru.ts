import { adamState, adamStep } from "@tradewind/core/students/adam.ts";
import { standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";

/** Steps of the past that it reads, hidden units, and inputs: load, and sine and cosine of the time of day. */
const PAST = 24;
const UNITS = 16;
const INPUTS = 3;
const GATES = 3;
const BATCH = 32;
const LEARNING_RATE = 3e-3;

export interface GruData {
  /** Load over its interquartile range, about its median, both of the training part. */
  readonly values: readonly number[];
  /** Steps of a day. */
  readonly daySteps: number;
  readonly aheads: readonly number[];
}

/** Parts of the one array of weights. */
const W = 0;
const U = W + GATES * UNITS * INPUTS;
const B = U + GATES * UNITS * UNITS;
const Q = B + GATES * UNITS;
const V = Q + UNITS;

interface Step {
  readonly h: Float64Array;
  readonly z: Float64Array;
  readonly r: Float64Array;
  readonly c: Float64Array;
  readonly q: Float64Array;
}

const newStep = (): Step => ({
  h: new Float64Array(UNITS),
  z: new Float64Array(UNITS),
  r: new Float64Array(UNITS),
  c: new Float64Array(UNITS),
  q: new Float64Array(UNITS),
});

const of = (values: ArrayLike<number>, at: number): number => values[at] ?? 0;
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/**
 * A gated recurrent unit (Cho et al. 2014, reset after the product) with a linear head: the median change of the load from the last
 * step, for all horizons at once, trained on absolute errors by Adam.
 */
export class Gru {
  private readonly weights: Float64Array;
  private readonly gradient: Float64Array;
  private readonly steps = Array.from({ length: PAST + 1 }, newStep);
  private readonly data: GruData;
  private readonly back = new Float64Array(UNITS);
  private readonly next = new Float64Array(UNITS);
  readonly out: Float64Array;
  static readonly past = PAST;
  static readonly units = UNITS;

  constructor(data: GruData, rng: Rng) {
    this.data = data;
    const outputs = data.aheads.length;
    this.out = new Float64Array(outputs);
    this.weights = Float64Array.from({ length: V + outputs * (UNITS + 1) }, () => 0.2 * standardNormal(rng));
    this.weights.fill(0, V);
    this.gradient = new Float64Array(this.weights.length);
  }

  /** Forecasts of all horizons after a step, in the unit of the values. */
  predict(origin: number): Float64Array {
    for (let at = 0; at < PAST; at += 1) this.forward(at, origin - PAST + 1 + at);
    const last = this.steps[PAST]?.h ?? new Float64Array(UNITS);
    for (let output = 0; output < this.out.length; output += 1) {
      const head = V + output * (UNITS + 1);
      let sum = of(this.weights, head + UNITS);
      for (let unit = 0; unit < UNITS; unit += 1) sum += of(this.weights, head + unit) * of(last, unit);
      this.out[output] = of(this.data.values, origin) + sum;
    }
    return this.out;
  }

  /** @param until end of the training part; origins are taken in random order */
  train(until: number, epochs: number, rng: Rng): void {
    const adam = adamState(this.weights);
    const first = PAST;
    const last = until - Math.max(...this.data.aheads) - 1;
    for (let count = epochs * (last - first); count > 0; count -= BATCH) {
      this.gradient.fill(0);
      for (let example = 0; example < BATCH; example += 1)
        this.backward(first + Math.floor(rng() * (last - first)));
      const slopes = this.gradient.map((sum) => Math.max(-1, Math.min(1, sum / BATCH)));
      adamStep(this.weights, slopes, adam, { rate: LEARNING_RATE });
    }
  }

  private inputsAt(step: number): readonly [number, number, number] {
    const { daySteps, values } = this.data;
    const angle = (2 * Math.PI * step) / daySteps;
    const value = Math.max(-6, Math.min(6, of(values, Math.max(0, step))));
    return [value, Math.sin(angle), Math.cos(angle)];
  }

  private forward(at: number, step: number): void {
    const { weights: w } = this;
    const { h: before } = this.steps[at] as Step;
    const { c, h, q, r, z } = this.steps[at + 1] as Step;
    const inputs = this.inputsAt(step);
    for (let unit = 0; unit < UNITS; unit += 1) {
      const sums = [0, 0, 0];
      for (let gate = 0; gate < GATES; gate += 1) {
        const row = gate * UNITS + unit;
        let sum = of(w, B + row);
        for (let input = 0; input < INPUTS; input += 1)
          sum += of(w, W + row * INPUTS + input) * of(inputs, input);
        let recurrent = 0;
        for (let from = 0; from < UNITS; from += 1)
          recurrent += of(w, U + row * UNITS + from) * of(before, from);
        if (gate === 2) q[unit] = recurrent + of(w, Q + unit);
        else sum += recurrent;
        sums[gate] = sum;
      }
      z[unit] = sigmoid(of(sums, 0));
      r[unit] = sigmoid(of(sums, 1));
      c[unit] = Math.tanh(of(sums, 2) + of(r, unit) * of(q, unit));
      h[unit] = of(z, unit) * of(before, unit) + (1 - of(z, unit)) * of(c, unit);
    }
  }

  /** Adds the gradient of one example. */
  private backward(origin: number): void {
    const { back, gradient, weights } = this;
    const out = this.predict(origin);
    const last = (this.steps[PAST] as Step).h;
    back.fill(0);
    for (const [output, ahead] of this.data.aheads.entries()) {
      const slope = Math.sign(of(out, output) - of(this.data.values, origin + ahead));
      const head = V + output * (UNITS + 1);
      gradient[head + UNITS] = of(gradient, head + UNITS) + slope;
      for (let unit = 0; unit < UNITS; unit += 1) {
        gradient[head + unit] = of(gradient, head + unit) + slope * of(last, unit);
        back[unit] = of(back, unit) + slope * of(weights, head + unit);
      }
    }
    for (let at = PAST - 1; at >= 0; at -= 1) this.backStep(at, origin - PAST + 1 + at);
  }

  private backStep(at: number, step: number): void {
    const { back, gradient: g, next, weights: w } = this;
    const { h: before } = this.steps[at] as Step;
    const { c, q, r, z } = this.steps[at + 1] as Step;
    const inputs = this.inputsAt(step);
    next.fill(0);
    for (let unit = 0; unit < UNITS; unit += 1) {
      const [slope = 0, gateZ = 0, gateR = 0, state = 0] = [back[unit], z[unit], r[unit], c[unit]];
      const byState = slope * (1 - gateZ) * (1 - state * state);
      const byQ = byState * gateR;
      const byGate = [
        slope * (of(before, unit) - state) * gateZ * (1 - gateZ),
        byState * of(q, unit) * gateR * (1 - gateR),
        byState,
      ];
      next[unit] = of(next, unit) + slope * gateZ;
      g[Q + unit] = of(g, Q + unit) + byQ;
      for (let gate = 0; gate < GATES; gate += 1) {
        const row = gate * UNITS + unit;
        const each = of(byGate, gate);
        const recurrent = gate === 2 ? byQ : each;
        g[B + row] = of(g, B + row) + each;
        for (let input = 0; input < INPUTS; input += 1) {
          const place = W + row * INPUTS + input;
          g[place] = of(g, place) + each * of(inputs, input);
        }
        for (let from = 0; from < UNITS; from += 1) {
          const place = U + row * UNITS + from;
          g[place] = of(g, place) + recurrent * of(before, from);
          next[from] = of(next, from) + recurrent * of(w, place);
        }
      }
    }
    back.set(next);
  }
}
