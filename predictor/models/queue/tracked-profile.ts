import { emptyExpectation, expect } from "./kalman.ts";
import {
  DEMAND,
  demandsOf,
  emptyDemands,
  emptyTimeAnswer,
  HOUSEKEEPING,
  PARAMETER_COUNT,
  parametersNow,
  timeOf,
} from "./own-time.ts";
import type { Demands, Program, TimePlace } from "./own-time.ts";
import {
  CURVE_ERROR,
  emptyProfile,
  LEAST_WEIGHT,
  LEAST_WINDOWS,
  ProfileState,
  PROGRAMS,
} from "./profile-state.ts";
import { P50, P95, P99 } from "./queue-curve.ts";
import type { ProfileObservation } from "./take-window.ts";

export { emptyProfile, ProfileState };
export type { ProfileObservation };

/** Self time at one size and load. */
export interface OwnTime {
  meanSeconds: number;
  tailSeconds: number;
  /** Standard deviation of ln tail. */
  sigma: number;
  /** d tail / d CPU limit of a container, seconds per core, <= 0. */
  tailByCores: number;
  /** d tail / d requests per second to a container, >= 0. */
  tailByLoad: number;
}

const now = new Float64Array(PARAMETER_COUNT);
const known = emptyDemands();
const answer = emptyTimeAnswer();
const expected = emptyExpectation(PARAMETER_COUNT);
const at: TimePlace = { cpuCores: 0, loadPerContainer: 0, windowSeconds: 0 };
export const STATISTICS = { 0.5: P50, 0.95: P95, 0.99: P99 } as const;
/** How long a queue of an over-full container can grow before somebody acts: four windows of 15 s. */
export const HORIZON_SECONDS = 60;

/** The part of a program's chance that windows give it. */
export const seenShare = (weight: number): number =>
  Math.max(0, weight - LEAST_WEIGHT) / (1 - PROGRAMS.length * LEAST_WEIGHT);

/**
 * Self time at any size and load, written into `out`; allocates nothing. Meaningful once {@link isCalibrated}; finite and > 0
 * always. `tailSeconds` is the mean over the programs thought possible: one that is unlikely and would be overloaded counts with
 * the time it would take. `sigma` grows with the distance from the sizes and loads seen.
 * @param demands of the state under each kind of program, where they are known
 */
export function predictOwnTime(
  state: ProfileState,
  place: { cpuCores: number | undefined; loadPerContainer: number },
  percentile: 0.5 | 0.95 | 0.99,
  out: OwnTime,
  demands?: readonly Demands[],
): void {
  at.cpuCores = place.cpuCores;
  at.loadPerContainer = place.loadPerContainer;
  at.windowSeconds = HORIZON_SECONDS;
  const statistic = STATISTICS[percentile];
  let meanSeconds = 0;
  let rootTail = 0;
  let byCores = 0;
  let byLoad = 0;
  let mean = 0;
  let square = 0;
  for (let i = 0; i < PROGRAMS.length; i += 1) {
    const weight = state.weights[i] as number;
    const each = demands?.[i] ?? demandsOf(parametersNow(state, i, now), known);
    timeOf(each, PROGRAMS[i] as Program, at, statistic, answer);
    expect(state.covariances[i] as number[], Math.log(answer.seconds), answer.byParameter, expected);
    meanSeconds += weight * answer.meanSeconds;
    const seen = seenShare(weight);
    const root = Math.sqrt(answer.seconds);
    rootTail += seen * root;
    byCores += (seen * answer.byCores) / root;
    byLoad += (seen * answer.byLoad) / root;
    const ofCurve = (CURVE_ERROR * answer.cpuShare) ** 2;
    mean += weight * expected.value;
    square += weight * (expected.value ** 2 + expected.variance + ofCurve);
  }
  const log = 2 * Math.log(rootTail);
  const variance = square - 2 * log * mean + log * log;
  out.meanSeconds = meanSeconds;
  out.tailSeconds = rootTail * rootTail;
  out.tailByCores = rootTail * byCores;
  out.tailByLoad = rootTail * byLoad;
  out.sigma = Math.sqrt(Math.max(0, variance) + (state.residuals[statistic - P50] as number));
}

/**
 * The same service where a request takes exp(log) times the CPU, as on slower or faster nodes; what a container takes without
 * requests grows with it. The very same state for 0.
 */
export function withDemand(state: ProfileState, log: number): ProfileState {
  if (log === 0) return state;
  const means = state.means.map((mean) =>
    mean.map((value, at) => (at === DEMAND || at === HOUSEKEEPING ? value + log : value)),
  );
  return { ...state, means };
}

/** What a request costs now, and a container without requests, and the cores that the program can use; undefined before any CPU use was seen. */
export function demandOf(
  state: ProfileState,
):
  | { cpuSecondsPerRequest: number; housekeepingCores: number; parallelism: number; sigma: number }
  | undefined {
  if (state.cpuWindows === 0) return undefined;
  let demand = 0;
  // All kinds agree on the sum of demand and housekeeping at the loads seen, and only arithmetic means keep it.
  let cpuSecondsPerRequest = 0;
  let housekeepingCores = 0;
  let parallelism = 0;
  let variance = 0;
  for (let i = 0; i < PROGRAMS.length; i += 1) {
    const weight = state.weights[i] ?? 0;
    const log = demandUnder(state, i);
    demand += weight * log;
    cpuSecondsPerRequest += weight * Math.exp(log);
    housekeepingCores += weight * Math.exp(state.means[i]?.[HOUSEKEEPING] ?? 0);
    parallelism += weight * (LOG_PARALLELISMS[i] as number);
  }
  for (let i = 0; i < PROGRAMS.length; i += 1) {
    const apart = demandUnder(state, i) - demand;
    variance += (state.weights[i] ?? 0) * ((state.covariances[i]?.[0] ?? 0) + apart ** 2);
  }
  return {
    cpuSecondsPerRequest,
    housekeepingCores,
    parallelism: Math.exp(parallelism),
    sigma: Math.sqrt(variance),
  };
}

const LOG_PARALLELISMS = PROGRAMS.map(({ parallelism }) => Math.log(parallelism));

/** ln of what a request takes of the CPU now under one kind of program. */
const demandUnder = ({ inflations, means }: ProfileState, program: number): number =>
  (means[program]?.[DEMAND] ?? 0) + (inflations[program] ?? 0);

/**
 * Whether it has seen enough to be believed at all: at least three windows with CPU use and load and three with latency. Fewer
 * cannot outvote one disturbed window. How far it is to be believed at a size and load is said by `sigma`.
 */
export function isCalibrated(state: ProfileState): boolean {
  return state.cpuWindows >= LEAST_WINDOWS && state.latencyWindows >= LEAST_WINDOWS;
}
