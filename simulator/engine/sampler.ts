import type { Count, Distribution } from "../model/distribution.ts";
import { mix, normalQuantile, uniformOf } from "./random.ts";

const FIXED = 0;
const EXPONENTIAL = 1;
const LOGNORMAL = 2;
const UNIFORM = 3;
const BIMODAL = 4;
const FIELDS = 4;

/** Distributions as rows of numbers, so that a draw neither allocates nor looks at an object. */
export class SamplerTable {
  private kinds = new Uint8Array(16);
  private values = new Float64Array(16 * FIELDS);
  private used = 0;

  /** @returns the number to draw by */
  add(distribution: Distribution): number {
    const row = this.used;
    this.used += 1;
    if (row === this.kinds.length) {
      const kinds = new Uint8Array(2 * row);
      const values = new Float64Array(2 * row * FIELDS);
      kinds.set(this.kinds);
      values.set(this.values);
      this.kinds = kinds;
      this.values = values;
    }
    const [kind, values] = encoded(distribution);
    this.kinds[row] = kind;
    this.values.set(values, row * FIELDS);
    return row;
  }

  /** The value that belongs to a 32-bit hash. */
  draw(row: number, hash: number): number {
    const at = row * FIELDS;
    const first = this.values[at] ?? 0;
    const second = this.values[at + 1] ?? 0;
    switch (this.kinds[row] ?? FIXED) {
      case FIXED:
        return first;
      case EXPONENTIAL:
        return -Math.log(uniformOf(hash)) * first;
      case LOGNORMAL:
        return Math.exp(first + second * normalQuantile(uniformOf(hash)));
      case UNIFORM:
        return first + (second - first) * uniformOf(hash);
      default: {
        const sigma = this.values[at + 3] ?? 0;
        const isHigh = uniformOf(mix(hash + 0x51ed270b)) < (this.values[at + 2] ?? 0);
        return Math.exp((isHigh ? second : first) + sigma * normalQuantile(uniformOf(hash)));
      }
    }
  }
}

function encoded(distribution: Distribution): [kind: number, values: number[]] {
  switch (distribution.kind) {
    case "fixed":
      return [FIXED, [distribution.mean]];
    case "exponential":
      return [EXPONENTIAL, [distribution.mean]];
    case "lognormal": {
      const { mean, cv } = distribution;
      return [LOGNORMAL, [logMean(mean, cv), sigmaOf(cv)]];
    }
    case "uniform":
      return [UNIFORM, [distribution.low, distribution.high]];
    case "bimodal":
    default: {
      const { low, high, highShare, cv } = distribution;
      return [BIMODAL, [logMean(low, cv), logMean(high, cv), highShare, sigmaOf(cv)]];
    }
  }
}

const sigmaOf = (cv: number): number => Math.sqrt(Math.log1p(cv * cv));
const logMean = (mean: number, cv: number): number => Math.log(mean) - Math.log1p(cv * cv) / 2;

/** How many times, for a 32-bit hash. */
export function drawCount(count: Count, hash: number): number {
  switch (count.kind) {
    case "fixed":
      return count.count;
    case "chance":
      return uniformOf(hash) < count.chance ? 1 : 0;
    case "uniform":
    default:
      return count.low + Math.floor((count.high - count.low + 1) * uniformOf(hash));
  }
}
