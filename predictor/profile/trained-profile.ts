import type { CpuInflation } from "./cpu-inflation.ts";
import {
  BASE_SECONDS,
  CPU_CORES,
  CPU_SECONDS_PER_REQUEST,
  FEATURE_COUNT,
  LOAD_PER_CONTAINER,
  LOG_BASE_SLOT,
  UTILISATION_SLOT,
} from "./inputs.ts";
import { bounded } from "./latency-profile.ts";
import type { LatencyProfile, Verdict } from "./latency-profile.ts";
import { shapeOf } from "./model.ts";
import type { IntervalScale, ProfileModel, Span } from "./model.ts";
import { NetworkEvaluator } from "./network.ts";
import { shownLogStretch, shownLogStretchSlope } from "./prior.ts";
import { layoutOf } from "./shape.ts";

/** ln of the largest and smallest latency a profile will state: e^±18 seconds, so that no exponential overflows. */
const LARGEST_LOG = 18;

/** Utilisation past which the prior stays where it is: nothing can be learnt from it there. */
const LARGEST_UTILISATION = 1e3;

/** Share of a span by which an input may lie outside before the verdict says so. */
const RANGE_SLACK = 0.02;

/**
 * Evaluates a trained model on typed arrays made once:
 * ln latency = ln b₀ + κ · ln (b/b₀) + w · shown ln stretch(u) + network, with b the base latency as measured, b₀ its typical
 * value, and κ, w and the network averaged over the members.
 */
export class TrainedProfile implements LatencyProfile {
  readonly maturity = "trained";
  readonly isMonotone: boolean;
  readonly verdict: Verdict = { lowerSeconds: 0, upperSeconds: 0, inRange: true };
  readonly model: ProfileModel;
  readonly inflation?: CpuInflation;
  /** May be moved as measurements come in, see interval.ts. */
  interval: IntervalScale;
  /** Spread of the last evaluation, in units of ln latency. */
  spread = 1;
  readonly #members: readonly NetworkEvaluator[];
  readonly #normalised: Float64Array;
  readonly #networkGradient: Float64Array;
  /** 1 / (high − low) where the input is inside its span, else 0: ∂normalised/∂input. */
  readonly #slopes: Float64Array;
  /** Mean weights of the prior's two parts over the members. */
  readonly #stretchWeight: number;
  readonly #baseWeight: number;
  readonly #logTypicalBase: number;
  // What the last evaluation worked with, kept for its gradient.
  #cores = 1;
  #load = 0;
  #seconds = 1;
  #base = 1;
  #used = 0;

  constructor(model: ProfileModel) {
    this.model = model;
    if (model.inflation !== undefined) this.inflation = model.inflation;
    this.isMonotone = model.switches.monotone;
    this.interval = model.interval;
    const shape = shapeOf(model);
    this.#members = model.members.map((parameters) => new NetworkEvaluator({ shape, parameters }));
    this.#normalised = new Float64Array(shape.inputs);
    this.#networkGradient = new Float64Array(shape.inputs);
    this.#slopes = new Float64Array(shape.inputs);
    const { stretchWeight, baseWeight } = layoutOf(shape);
    const mean = (at: number): number =>
      model.members.reduce((sum, parameters) => sum + (parameters[at] ?? 0), 0) / model.members.length;
    this.#stretchWeight = model.switches.prior ? mean(stretchWeight) : 0;
    this.#baseWeight = model.switches.prior ? mean(baseWeight) : 0;
    this.#logTypicalBase = Math.log(model.baseSeconds);
  }

  evaluate(input: Float64Array, gradientOut?: Float64Array): number {
    const { switches } = this.model;
    this.verdict.inRange = true;
    for (let i = 0; i < FEATURE_COUNT; i += 1) this.#place(i, input[i] as number);
    this.#cores = this.#feature(CPU_CORES, input[CPU_CORES] as number);
    this.#load = this.#feature(LOAD_PER_CONTAINER, input[LOAD_PER_CONTAINER] as number);
    this.#seconds = this.#state(input[CPU_SECONDS_PER_REQUEST] as number, this.model.cpuSecondsPerRequest);
    this.#base = switches.prior
      ? this.#state(input[BASE_SECONDS] as number, this.model.baseSeconds)
      : this.model.baseSeconds;
    this.#used = Math.min((this.#load * this.#seconds) / this.#cores, LARGEST_UTILISATION);
    if (switches.prior) {
      this.#place(UTILISATION_SLOT, this.#used);
      this.#place(LOG_BASE_SLOT, Math.log(this.#base));
    }
    const wanted =
      this.#logTypicalBase +
      this.#baseWeight * (Math.log(this.#base) - this.#logTypicalBase) +
      this.#stretchWeight * shownLogStretch(this.#used) +
      this.#network();
    const log = Math.max(-LARGEST_LOG, Math.min(LARGEST_LOG, wanted));
    const value = Math.exp(log);
    if (gradientOut !== undefined) {
      this.#gradient(gradientOut, input, log === wanted ? value : 0);
      bounded(gradientOut);
    }
    this.verdict.lowerSeconds = Math.exp(Math.max(-LARGEST_LOG, log + this.interval.low * this.spread));
    this.verdict.upperSeconds = Math.exp(Math.min(LARGEST_LOG, log + this.interval.high * this.spread));
    return value;
  }

  /** Mean centre of the members; leaves the mean spread in {@link spread}. */
  #network(): number {
    let centre = 0;
    let spread = 0;
    for (let m = 0; m < this.#members.length; m += 1) {
      const member = this.#members[m] as NetworkEvaluator;
      member.forward(this.#normalised);
      centre += member.centre;
      spread += member.spread;
    }
    this.spread = this.model.switches.uncertainty ? spread / this.#members.length : 1;
    return centre / this.#members.length;
  }

  /** Normalises one network input; outside its span it is held at the edge, absent it is neutral. */
  #place(slot: number, value: number): void {
    const { low, high, neutral } = this.model.spans[slot] as Span;
    const width = high - low;
    const isKnown = Number.isFinite(value);
    const known = isKnown ? value : neutral;
    const slack = RANGE_SLACK * Math.max(width, Math.abs(high));
    // An input that was never there in training says nothing when it is absent now.
    if (isKnown ? known < low - slack || known > high + slack : width > 0) this.verdict.inRange = false;
    const inside = isKnown && width > 0 && known >= low && known <= high;
    this.#normalised[slot] = width > 0 ? (Math.min(high, Math.max(low, known)) - low) / width : 0;
    this.#slopes[slot] = inside ? 1 / width : 0;
  }

  #feature(slot: number, value: number): number {
    const { neutral } = this.model.spans[slot] as Span;
    const least = slot === CPU_CORES ? 1e-6 : 0;
    return Math.max(least, Math.min(1e12, Number.isFinite(value) ? value : neutral));
  }

  #state(value: number, otherwise: number): number {
    return value > 1e-9 && value < 1e6 ? value : otherwise;
  }

  #gradient(out: Float64Array, input: Float64Array, value: number): void {
    const { switches } = this.model;
    const network = this.#networkGradient;
    network.fill(0);
    for (let m = 0; m < this.#members.length; m += 1) {
      (this.#members[m] as NetworkEvaluator).addGradient(network, 1 / this.#members.length);
    }
    for (let i = 0; i < FEATURE_COUNT; i += 1)
      out[i] = value * (network[i] as number) * (this.#slopes[i] as number);
    out[CPU_SECONDS_PER_REQUEST] = 0;
    out[BASE_SECONDS] = 0;
    if (!switches.prior) return;
    const prior =
      this.#used < LARGEST_UTILISATION ? this.#stretchWeight * shownLogStretchSlope(this.#used) : 0;
    const learnt = (network[UTILISATION_SLOT] as number) * (this.#slopes[UTILISATION_SLOT] as number);
    const byUtilisation = (value * (prior + learnt)) / this.#cores;
    if (this.#load === input[LOAD_PER_CONTAINER]) {
      out[LOAD_PER_CONTAINER] = (out[LOAD_PER_CONTAINER] as number) + byUtilisation * this.#seconds;
    }
    if (this.#cores === input[CPU_CORES]) {
      out[CPU_CORES] = (out[CPU_CORES] as number) - byUtilisation * this.#used;
    }
    if (this.#seconds === input[CPU_SECONDS_PER_REQUEST]) {
      out[CPU_SECONDS_PER_REQUEST] = byUtilisation * this.#load;
    }
    if (this.#base === input[BASE_SECONDS]) {
      const learntByBase = (network[LOG_BASE_SLOT] as number) * (this.#slopes[LOG_BASE_SLOT] as number);
      out[BASE_SECONDS] = (value * (this.#baseWeight + learntByBase)) / this.#base;
    }
  }
}
