import { standardNormal } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { median } from "../statistics.ts";
import { predictOwnTime } from "../queue/tracked-profile.ts";
import type { OwnTime } from "../queue/tracked-profile.ts";
import { demandIn, DIRECTIONS, INPUT_COUNT, writePlace, writeSurroundings } from "./inputs.ts";
import type { Place } from "./inputs.ts";
import { Network, parameterCount, signsOf } from "./network.ts";
import { BOUND, placeIn, referenceLogOf } from "./residual.ts";
import type { ResidualModel, Span } from "./residual-model.ts";
import type { ServedRow } from "./served-rows.ts";
import { LEAST_DEVIATION } from "./standing.ts";

const UNITS = 6;
const STEPS = 600;
const BATCH_ROWS = 128;
const LEARNING_RATE = 0.03;
/** Standard deviations before anything is seen: of weights and biases of units, of what units add, and of the curve's factor. */
const WEIGHT_SPREAD = 2;
const OUTPUT_SPREAD = 0.1;
const CURVE_SPREAD = 0.15;
/** The tracked slope is doubled or halved at most. */
const MOST_CURVE = 1;
const LEAST_CURVE = 1 / (1 + MOST_CURVE) - 1;
/** A window so much older than the newest counts half. */
const HALF_LIFE_MS = 12 * 3_600_000;
/** Below this many of its scales |error| counts as its square does, so that it has a slope everywhere. */
const ROUNDING = 0.1;

/** What a training works out; the rest of the model says what it is of. */
type Fitted = Pick<ResidualModel, "reference" | "curve" | "curveSpan" | "spans" | "units" | "parameters">;

interface Datum {
  readonly raw: Float64Array;
  /** ln(tracked tail / that at the reference). */
  readonly curve: number;
  readonly target: number;
  /** Mean distance of the target by chance. */
  readonly scale: number;
  readonly weight: number;
}

/**
 * The likeliest residual of these rows. Percentiles are off as a Laplace distribution says, so that a few disturbed windows move
 * little; parameters lie about 0, so that what no row asks for stays 0. Adam (Kingma and Ba, 2015); signs are kept at each step.
 */
export function fitResidual(rows: readonly ServedRow[], rng: Rng): Fitted {
  const reference = referenceOf(rows);
  const data = dataOf(rows, reference);
  const spans = Array.from({ length: INPUT_COUNT }, (_, i) => spanOf(data.map(({ raw }) => raw[i] ?? 0)));
  const inputs = data.map(({ raw }) => raw.map((value, i) => placeIn(value, spans[i] as Span, i)));
  const shape = { inputs: INPUT_COUNT, units: UNITS };
  const count = parameterCount(shape);
  const signs = signsOf(shape, DIRECTIONS);
  // The last one is the curve's; the network reads the others.
  const all = new Float64Array(count + 1);
  for (let i = 0; i < count; i += 1) {
    const draw = standardNormal(rng) * (i < count - UNITS ? 1 : OUTPUT_SPREAD);
    all[i] = signs[i] === 0 ? draw : Math.abs(draw) * (signs[i] as number);
  }
  const network = new Network(shape, all.subarray(0, count));
  const gradient = new Float64Array(count + 1);
  const adam = new Adam(count + 1);
  const batches = new Batches(data.length, rng);
  for (let step = 0; step < STEPS; step += 1) {
    gradient.fill(0);
    const batch = batches.next();
    for (const row of batch) {
      const { curve, scale, target, weight } = data[row] as Datum;
      const input = inputs[row] as Float64Array;
      const value = BOUND * Math.tanh((network.output(input) + (all[count] as number) * curve) / BOUND);
      const off = (value - target) / scale;
      const share = (weight * data.length) / batch.length;
      const pull = ((share * off) / Math.hypot(off, ROUNDING) / scale) * (1 - (value / BOUND) ** 2);
      network.addGradient(input, pull, gradient);
      gradient[count] = (gradient[count] as number) + pull * curve;
    }
    for (let i = 0; i <= count; i += 1) {
      const spread = i === count ? CURVE_SPREAD : i < count - UNITS ? WEIGHT_SPREAD : OUTPUT_SPREAD;
      gradient[i] = (gradient[i] as number) + (all[i] as number) / spread ** 2;
    }
    adam.step(all, gradient, LEARNING_RATE * (0.51 + 0.49 * Math.cos((Math.PI * step) / STEPS)));
    for (let i = 0; i < count; i += 1) if ((all[i] as number) * (signs[i] as number) < 0) all[i] = 0;
    all[count] = Math.min(MOST_CURVE, Math.max(LEAST_CURVE, all[count] as number));
  }
  const parameters = Float64Array.from(Float32Array.from(all.subarray(0, count)));
  const curveSpan = spanOf(data.map(({ curve }) => curve));
  return { reference, curve: all[count] as number, curveSpan, spans, units: UNITS, parameters };
}

/** Usual size and load. */
function referenceOf(rows: readonly ServedRow[]): Place {
  const cores = rows.flatMap(({ place }) => place.cpuCores ?? []);
  return {
    cpuCores: cores.length === 0 ? undefined : median(cores),
    loadPerContainer: median(rows.map(({ place }) => place.loadPerContainer)),
  };
}

function spanOf(values: readonly number[]): Span {
  const known = values.filter((value) => Number.isFinite(value));
  if (known.length === 0) return { low: 0, usual: 0, high: 0 };
  return {
    low: known.reduce((least, value) => Math.min(least, value)),
    usual: median(known),
    high: known.reduce((most, value) => Math.max(most, value)),
  };
}

function dataOf(rows: readonly ServedRow[], reference: Place): Datum[] {
  const newestMs = rows.reduce((newest, { atMs }) => Math.max(newest, atMs), 0);
  const out: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
  return rows.map(({ atMs, error, percentile, place, state, surroundings, variance }): Datum => {
    const raw = new Float64Array(INPUT_COUNT);
    writeSurroundings(surroundings, raw);
    writePlace(place, demandIn(state), raw, { byCores: 0, byLoad: 0 });
    predictOwnTime(state, place, percentile, out);
    return {
      raw,
      curve: Math.log(out.tailSeconds) - referenceLogOf(reference, state, percentile),
      target: Math.min(BOUND, Math.max(-BOUND, error)),
      scale: Math.sqrt((variance + LEAST_DEVIATION ** 2) / 2),
      weight: 0.5 ** ((newestMs - atMs) / HALF_LIFE_MS),
    };
  });
}

/** Row numbers in batches, shuffled whenever all have had their turn. */
class Batches {
  private readonly order: number[];
  private readonly rng: Rng;
  private from: number;

  constructor(count: number, rng: Rng) {
    this.order = Array.from({ length: count }, (_, i) => i);
    this.rng = rng;
    this.from = count;
  }

  next(): number[] {
    const { order, rng } = this;
    if (this.from >= order.length) {
      for (let i = order.length - 1; i > 0; i -= 1) {
        const j = Math.floor(rng() * (i + 1));
        [order[i], order[j]] = [order[j] as number, order[i] as number];
      }
      this.from = 0;
    }
    const batch = order.slice(this.from, this.from + BATCH_ROWS);
    this.from += BATCH_ROWS;
    return batch;
  }
}

class Adam {
  private readonly first: Float64Array;
  private readonly second: Float64Array;
  private steps = 0;

  constructor(length: number) {
    this.first = new Float64Array(length);
    this.second = new Float64Array(length);
  }

  step(parameters: Float64Array, gradient: Float64Array, rate: number): void {
    this.steps += 1;
    const firstBias = 1 - 0.9 ** this.steps;
    const secondBias = 1 - 0.999 ** this.steps;
    for (const [i, slope] of gradient.entries()) {
      const first = 0.9 * (this.first[i] as number) + 0.1 * slope;
      const second = 0.999 * (this.second[i] as number) + 0.001 * slope * slope;
      this.first[i] = first;
      this.second[i] = second;
      const moved = (rate * (first / firstBias)) / (Math.sqrt(second / secondBias) + 1e-8);
      parameters[i] = (parameters[i] as number) - moved;
    }
  }
}
