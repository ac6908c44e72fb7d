import { BASE_SECONDS, CPU_CORES, CPU_SECONDS_PER_REQUEST, LOAD_PER_CONTAINER } from "./inputs.ts";
import { bounded } from "./latency-profile.ts";
import type { LatencyProfile, Verdict } from "./latency-profile.ts";
import { quantile } from "./order-statistics.ts";
import { logStretchSlope, stretch, utilisation } from "./prior.ts";
import { estimateState } from "./service-state.ts";
import type { Observation, ServiceState } from "./service-state.ts";

/** Without enough windows to tell, the prior is taken to be right within this factor either way. */
const UNTOLD_FACTOR = 3;

/** Windows before the interval is taken from them. */
const LEAST_FOR_INTERVAL = 20;

/** The value where it is a plausible number of its unit, else the other. */
const plausible = (value: number | undefined, otherwise: number): number =>
  value !== undefined && value > 1e-9 && value < 1e12 ? value : otherwise;

export interface PriorFactors {
  readonly lower: number;
  readonly upper: number;
}

/** Profile before any training: base · stretch(utilisation), see prior.ts. */
export class PriorProfile implements LatencyProfile {
  readonly maturity = "prior";
  readonly isMonotone = true;
  readonly verdict: Verdict = { lowerSeconds: 0, upperSeconds: 0, inRange: true };
  readonly state: ServiceState;
  /** Measured over predicted at the 5th and 95th percentile; undefined while there are too few windows to tell. */
  readonly factors: PriorFactors | undefined;
  readonly #lowerFactor: number;
  readonly #upperFactor: number;

  constructor(state: ServiceState, factors?: PriorFactors) {
    this.state = state;
    this.factors = factors;
    this.#lowerFactor = Math.min(1, factors?.lower ?? 1 / UNTOLD_FACTOR);
    this.#upperFactor = Math.max(1, factors?.upper ?? UNTOLD_FACTOR);
  }

  evaluate(input: Float64Array, gradientOut?: Float64Array): number {
    const seconds = plausible(input[CPU_SECONDS_PER_REQUEST], this.state.cpuSecondsPerRequest);
    const base = plausible(input[BASE_SECONDS], this.state.baseSeconds);
    const load = plausible(input[LOAD_PER_CONTAINER], 0);
    const cores = plausible(input[CPU_CORES], 0);
    const used = cores > 0 ? Math.min(utilisation(load, seconds, cores), 1e6) : 0;
    const value = base * stretch(used);
    if (gradientOut !== undefined) {
      gradientOut.fill(0);
      if (cores > 0) this.#addGradient(gradientOut, value * logStretchSlope(used), load, seconds, cores);
      if (input[BASE_SECONDS] === base) gradientOut[BASE_SECONDS] = value / base;
      if (input[CPU_SECONDS_PER_REQUEST] !== seconds) gradientOut[CPU_SECONDS_PER_REQUEST] = 0;
      if (!Number.isFinite(input[LOAD_PER_CONTAINER])) gradientOut[LOAD_PER_CONTAINER] = 0;
      bounded(gradientOut);
    }
    this.verdict.lowerSeconds = value * this.#lowerFactor;
    this.verdict.upperSeconds = value * this.#upperFactor;
    this.verdict.inRange = cores > 0 && Number.isFinite(input[LOAD_PER_CONTAINER]);
    return value;
  }

  #addGradient(out: Float64Array, byUtilisation: number, load: number, seconds: number, cores: number): void {
    out[LOAD_PER_CONTAINER] = (byUtilisation * seconds) / cores;
    out[CPU_SECONDS_PER_REQUEST] = (byUtilisation * load) / cores;
    out[CPU_CORES] = (-byUtilisation * load * seconds) / (cores * cores);
  }
}

/**
 * Profile from the first minutes of traffic, by the utilisation law.
 * @returns undefined with fewer than three usable windows
 */
export function priorProfile(observations: readonly Observation[]): PriorProfile | undefined {
  const state = estimateState(observations, 1);
  if (state === undefined) return undefined;
  const ratios = observations
    .filter(({ latencySeconds, cpuCores }) => latencySeconds > 0 && cpuCores > 0)
    .map(
      ({ latencySeconds, loadPerContainer, cpuCores }) =>
        latencySeconds /
        (state.baseSeconds * stretch(utilisation(loadPerContainer, state.cpuSecondsPerRequest, cpuCores))),
    );
  if (ratios.length < LEAST_FOR_INTERVAL) return new PriorProfile(state);
  return new PriorProfile(state, { lower: quantile(ratios, 0.05), upper: quantile(ratios, 0.95) });
}
