import { predictOwnTime, residualVariance } from "../queue/tracked-profile.ts";
import type { OwnTime, ProfileState } from "../queue/tracked-profile.ts";
import {
  CORES,
  demandIn,
  DIRECTIONS,
  INPUT_COUNT,
  LEAST_LOAD,
  LEAST_WIDTHS,
  LOAD,
  STRETCH,
  writePlace,
  writeSurroundings,
} from "./inputs.ts";
import type { Demand, Place, StretchSlopes, Surroundings } from "./inputs.ts";
import { Network } from "./network.ts";
import type { ResidualModel, Span } from "./residual-model.ts";

/** A percentile that the tracked profile answers. */
export type Percentile = 0.5 | 0.95 | 0.99;

/** ln of the largest factor either way. */
export const BOUND = Math.log(4);

const widthOf = ({ high, low }: Span, input: number): number =>
  Math.max(high - low, LEAST_WIDTHS[input] ?? 1);

/** Where a value lies in what was seen: 0 to 1, held at the edges. A value that is not known is the usual one. */
export function placeIn(value: number, span: Span, input: number): number {
  const known = Number.isNaN(value) ? span.usual : value;
  return (Math.min(span.high, Math.max(span.low, known)) - span.low) / widthOf(span, input);
}

/** How far beyond what was seen a value lies, in widths: above > 0, below < 0. */
function beyond(value: number, span: Span, input: number): number {
  const past = value > span.high ? value - span.high : value < span.low ? value - span.low : 0;
  return past / widthOf(span, input);
}

/** Whether a residual of this sign may fade there: only where that keeps the direction of the input. */
const mayFade = (past: number, sign: number, input: number): boolean =>
  past * sign * (DIRECTIONS[input] ?? 0) < 0;

/** How a residual is used. */
export interface Use {
  /** Factor on it, [0, 1]. Default 1. */
  readonly weight?: number;
  /** Variance of ln of the tail that is left with it, less chance. Default: no less than without it. */
  readonly variance?: number;
}

/**
 * A residual in use on a service in one window: ln(self time / what the tracked profile says), all but size and load worked out.
 */
export class ServedResidual {
  private readonly model: ResidualModel;
  private readonly network: Network;
  private readonly demand: Demand;
  private readonly raw = new Float64Array(INPUT_COUNT);
  private readonly inputs = new Float64Array(INPUT_COUNT);
  private readonly stretch: StretchSlopes = { byCores: 0, byLoad: 0 };
  /** ln of the tracked tail at the model's reference. */
  private readonly referenceLog: number;
  /** Squared distance of the surroundings from what was seen, as far as it makes an excess or a shortfall fade. */
  private readonly excessFar: number;
  private readonly shortfallFar: number;

  /** Variance of ln of the tail that the tracked profile misses beyond chance, less that with the residual; >= 0. */
  private readonly saved: number;

  private readonly weight: number;

  constructor(
    model: ResidualModel,
    state: ProfileState,
    surroundings: Surroundings,
    percentile: Percentile,
    { variance = Infinity, weight = 1 }: Use = {},
  ) {
    this.model = model;
    this.weight = weight;
    this.saved = Math.max(0, residualVariance(state, percentile) - variance);
    this.network = new Network({ inputs: INPUT_COUNT, units: model.units }, model.parameters);
    this.demand = demandIn(state);
    const { cpuCores, loadPerContainer } = model.reference;
    this.referenceLog = referenceLogOf({ cpuCores, loadPerContainer }, state, percentile);
    writeSurroundings(surroundings, this.raw);
    let [excessFar, shortfallFar] = [0, 0];
    for (let i = STRETCH + 1; i < INPUT_COUNT; i += 1) {
      const span = this.spanOf(i);
      this.inputs[i] = placeIn(this.raw[i] ?? Number.NaN, span, i);
      const past = beyond(this.raw[i] ?? Number.NaN, span, i);
      if (mayFade(past, 1, i)) excessFar += past * past;
      if (mayFade(past, -1, i)) shortfallFar += past * past;
    }
    this.excessFar = excessFar;
    this.shortfallFar = shortfallFar;
  }

  /**
   * Multiplies what the tracked profile says at this size and load by exp(residual), slopes with it; sigma is that of the two
   * together. The tail still never rises with cores and never falls with load. Allocates nothing.
   * @returns the residual with its weight, within ±{@link BOUND}
   */
  apply(place: Place, out: OwnTime): number {
    const { inputs, model, network, raw, stretch, weight } = this;
    writePlace(place, this.demand, raw, stretch);
    for (let i = CORES; i <= STRETCH; i += 1) inputs[i] = placeIn(raw[i] as number, this.spanOf(i), i);
    const curve = Math.log(out.tailSeconds) - this.referenceLog;
    const { high, low } = model.curveSpan;
    const sum = network.output(inputs) + model.curve * Math.min(high, Math.max(low, curve));
    const sign = Math.sign(sum);
    const cores = this.fading(CORES, sign);
    const load = this.fading(LOAD, sign);
    const far = (sign > 0 ? this.excessFar : this.shortfallFar) + cores * cores + load * load;
    const gate = Math.exp(-far / 2);
    const bent = Math.tanh((gate * sum) / BOUND);
    const residual = weight * BOUND * bent;
    const steep = weight * gate * (1 - bent ** 2);
    const byCurve = curve > low && curve < high ? model.curve / out.tailSeconds : 0;
    const byStretch = this.slope(STRETCH);
    const byCores =
      byCurve * out.tailByCores +
      byStretch * stretch.byCores +
      (this.slope(CORES) - (sum * cores) / this.width(CORES)) / (place.cpuCores ?? Infinity);
    const byLoad =
      byCurve * out.tailByLoad +
      byStretch * stretch.byLoad +
      (this.slope(LOAD) - (sum * load) / this.width(LOAD)) / Math.max(LEAST_LOAD, place.loadPerContainer);
    const factor = Math.exp(residual);
    out.tailByCores = factor * (out.tailByCores + out.tailSeconds * steep * byCores);
    out.tailByLoad = factor * (out.tailByLoad + out.tailSeconds * steep * byLoad);
    out.sigma = Math.sqrt(Math.max(0, out.sigma ** 2 - this.saved));
    out.tailSeconds *= factor;
    out.meanSeconds *= factor;
    return residual;
  }

  private spanOf(input: number): Span {
    return this.model.spans[input] ?? NOTHING_SEEN;
  }

  private width(input: number): number {
    return widthOf(this.spanOf(input), input);
  }

  /** How far beyond what was seen an input lies, where that makes a residual of this sign fade. */
  private fading(input: number, sign: number): number {
    const past = beyond(this.raw[input] as number, this.spanOf(input), input);
    return mayFade(past, sign, input) ? past : 0;
  }

  /** d network / d input as it is; 0 where the input is held. */
  private slope(input: number): number {
    const { high, low } = this.spanOf(input);
    const value = this.raw[input] as number;
    return value > low && value < high ? this.network.slope(input) / this.width(input) : 0;
  }
}

const NOTHING_SEEN: Span = { low: 0, usual: 0, high: 0 };

const at: OwnTime = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };

/** ln of the tracked tail at a reference: the curve is scaled about it. */
export function referenceLogOf(reference: Place, state: ProfileState, percentile: Percentile): number {
  predictOwnTime(state, reference, percentile, at);
  return Math.log(at.tailSeconds);
}
