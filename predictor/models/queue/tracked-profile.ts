import { emptyExpectation, expect } from "./kalman.ts";
import type { Estimate } from "./kalman.ts";
import {
  BASE,
  BASE_SPREAD,
  DEMAND,
  demandsOf,
  emptyDemands,
  emptyTimeAnswer,
  HOUSEKEEPING,
  OVERHEAD,
  PARAMETER_COUNT,
  timeOf,
  VARIATION,
} from "./own-time.ts";
import type { Demands, Program, TimePlace } from "./own-time.ts";
import { emptyProfile, parametersNow, PRIOR, ProfileState, PROGRAMS } from "./profile-state.ts";
import { P50, P95, P99 } from "./queue-curve.ts";
import { RECENT_WINDOWS } from "../recent-windows.ts";
import {
  changeOf,
  INFLATION,
  inflationOf,
  isCpuSeen,
  isLatencySeen,
  isPositive,
  OUTLIER,
  takeWindow,
  TRACKED_COUNT,
} from "./take-window.ts";
import type { Evidence, ProfileObservation } from "./take-window.ts";

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

/** Random walk of each parameter's logarithm, standard deviation per square root of an hour; and at a deploy. */
const DRIFT = 0.1;
const DEPLOY_DRIFT = 0.7;
/** Windows of each kind before the profile is believed: fewer cannot outvote a disturbed one. */
const LEAST_WINDOWS = 3;
/**
 * Standard deviation of ln of the curve's own error, see docs/models.md: steady windows show it where they are, not elsewhere. A window that is
 * disturbed by less counts as steady.
 */
const CURVE_ERROR = 0.1;
/** No program is ever less likely than this: a deploy can change it. */
const LEAST_WEIGHT = 0.001;

/** The one that a window is taken into. */
const estimate: Estimate = {
  mean: new Float64Array(TRACKED_COUNT),
  covariance: new Float64Array(TRACKED_COUNT ** 2),
};

/** What was known before the window, and that its inflation is not. */
function open(mean: readonly number[], covariance: readonly number[], inflation: number): void {
  estimate.mean[INFLATION] = 0;
  estimate.covariance.fill(0);
  for (let i = 0; i < PARAMETER_COUNT; i += 1) {
    estimate.mean[i] = mean[i] as number;
    for (let j = 0; j < PARAMETER_COUNT; j += 1)
      estimate.covariance[i * TRACKED_COUNT + j] = covariance[i * PARAMETER_COUNT + j] as number;
  }
  estimate.covariance[INFLATION * TRACKED_COUNT + INFLATION] = inflation;
}

const NO_MEAN = Array.from({ length: PARAMETER_COUNT }, () => Number.NaN);
const NO_COVARIANCE = Array.from({ length: PARAMETER_COUNT ** 2 }, () => Number.NaN);

/** What is known after it, and its inflation. */
function close(): { mean: number[]; covariance: number[]; inflation: number } {
  const mean = NO_MEAN.slice();
  const covariance = NO_COVARIANCE.slice();
  for (let i = 0; i < PARAMETER_COUNT; i += 1) {
    mean[i] = estimate.mean[i] as number;
    for (let j = 0; j < PARAMETER_COUNT; j += 1)
      covariance[i * PARAMETER_COUNT + j] = estimate.covariance[i * TRACKED_COUNT + j] as number;
  }
  return { mean, covariance, inflation: estimate.mean[INFLATION] as number };
}

/** Takes in one window. Windows must come in order of time; one that says nothing changes only the counts. */
export function track(state: ProfileState, observation: ProfileObservation): ProfileState {
  const [inflation, change] = [inflationOf(observation), changeOf(state, observation)];
  const isSteady = inflation + change < CURVE_ERROR ** 2;
  const changed = changesIn(state, observation);
  const taken = PROGRAMS.map((program, i) => {
    open(state.means[i] as number[], state.covariances[i] as number[], inflation + state.cpuResidual);
    drift(estimate, hoursBetween(state, observation), changed);
    const [p50 = 0, p95 = 0, p99 = 0] = state.residuals;
    const evidence: Evidence = {
      state,
      observation,
      change,
      excess: [p50, p95, p99],
      cpuResidual: state.cpuResidual,
      cpuSurprise: 0,
      latencySurprise: 0,
    };
    const likelihood = takeWindow(estimate, program, evidence);
    return { evidence, likelihood, ...close() };
  });
  const average = (value: (each: Evidence) => number): number =>
    taken.reduce((sum, { evidence }, i) => sum + (state.weights[i] ?? 0) * value(evidence), 0);
  const place = placeAfter(state, observation, changed.ofCpu || changed.ofLatency);
  const { keptRatio = state.keptRatio, loadPerContainer } = observation;
  const lastLoad = isPositive(loadPerContainer) ? loadPerContainer : state.lastLoad;
  const likeliest = taken[state.weights.indexOf(Math.max(...state.weights))]?.evidence;
  return {
    windows: state.windows + 1,
    atMs: observation.atMs,
    weights: weighed(
      state.weights,
      taken.map(({ likelihood }) => likelihood / Math.max(1, place?.windows ?? 1)),
    ),
    means: taken.map(({ mean }) => mean),
    covariances: taken.map(({ covariance }) => covariance),
    residuals: state.residuals.map((residual, i) =>
      isSteady
        ? Math.max(0, residual + (average(({ excess }) => excess[i] ?? 0) - residual) / RECENT_WINDOWS)
        : residual,
    ),
    cpuResidual: inflation > 0 ? state.cpuResidual : average(({ cpuResidual }) => cpuResidual),
    cpuWindows: state.cpuWindows + (isCpuSeen(observation) ? 1 : 0),
    latencyWindows: state.latencyWindows + (isLatencySeen(observation) ? 1 : 0),
    inflations: state.inflations.map((before, i) =>
      inflationAfter(before, taken[i]?.inflation ?? 0, observation),
    ),
    surprises: changed.ofCpu ? 0 : surprisesAfter(state.surprises, likeliest?.cpuSurprise ?? 0, isSteady),
    latencySurprises: changed.ofLatency
      ? 0
      : surprisesAfter(state.latencySurprises, likeliest?.latencySurprise ?? 0, isSteady),
    ...(place && { place }),
    ...(lastLoad !== undefined && { lastLoad }),
    ...(isPositive(observation.cpuCores) && { lastCores: observation.cpuCores }),
    ...(keptRatio !== undefined && { keptRatio }),
  };
}

/** What of a service has changed. */
interface Changes {
  /** All of it may have. */
  readonly isDeploy: boolean;
  /** What a request takes of the CPU. */
  readonly ofCpu: boolean;
  /** How its latency comes about. */
  readonly ofLatency: boolean;
}

function changesIn(
  { latencySurprises, surprises }: ProfileState,
  { isAfterDeploy = false }: ProfileObservation,
): Changes {
  return {
    isDeploy: isAfterDeploy,
    ofCpu: isAfterDeploy || Math.abs(surprises) >= LEAST_WINDOWS,
    ofLatency: isAfterDeploy || Math.abs(latencySurprises) >= LEAST_WINDOWS,
  };
}

/** What a request takes beyond its demand stays as the last window has it. Young containers take more by themselves: they only end it. */
function inflationAfter(before: number, last: number, observation: ProfileObservation): number {
  if (!isCpuSeen(observation)) return before;
  if (!((observation.youngShare ?? 0) > 0)) return last;
  return Math.sign(before) * Math.max(0, Math.min(Math.abs(before), Math.sign(before) * last));
}

/** Loads within this distance, as ln, are one place. */
const PLACE_WIDTH = 0.25;

/**
 * The curves are off by as much in every window at the same load: the second such window says half as much of which program it
 * is as the first, the third a third. Otherwise hours at one load would rule out the right program for its curve's error.
 */
function placeAfter(
  { lastCores, place }: ProfileState,
  { cpuCores, loadPerContainer }: ProfileObservation,
  isChanged: boolean,
): ProfileState["place"] {
  if (!isPositive(loadPerContainer)) return place;
  const isHere =
    place !== undefined &&
    !isChanged &&
    Math.abs(Math.log(loadPerContainer / place.load)) < PLACE_WIDTH &&
    (lastCores === undefined || lastCores === cpuCores);
  return isHere ? { ...place, windows: place.windows + 1 } : { load: loadPerContainer, windows: 1 };
}

/** Three windows in a row so far from what was expected: the service has changed. */
function surprisesAfter(before: number, distance: number, isSteady: boolean): number {
  if (!isSteady) return before;
  if (Math.abs(distance) < OUTLIER) return 0;
  const sign = Math.sign(distance);
  return Math.sign(before) === sign ? before + sign : sign;
}

const hoursBetween = ({ atMs }: ProfileState, observation: ProfileObservation): number =>
  Math.max(0, observation.atMs - (atMs ?? observation.atMs)) / 3_600_000;

/** Bayes' rule, with a floor. */
function weighed(weights: readonly number[], likelihoods: readonly number[]): number[] {
  const most = Math.max(...likelihoods);
  const raised = weights.map((weight, i) => weight * Math.exp((likelihoods[i] ?? 0) - most));
  const sum = raised.reduce((total, each) => total + each, 0);
  return raised.map((each) => LEAST_WEIGHT + (1 - raised.length * LEAST_WEIGHT) * (each / sum));
}

const PRIOR_VARIANCES = PRIOR.map(([, spread]) => spread ** 2);
const OF_LATENCY: ReadonlySet<number> = new Set([VARIATION, BASE, BASE_SPREAD, OVERHEAD]);

/** What was learnt fades with time, and what has changed fades more, never beyond what is known of a service without any window. */
function drift({ covariance }: Estimate, hours: number, changes: Changes): void {
  const driven = DRIFT ** 2 * hours;
  for (let i = 0; i < PARAMETER_COUNT; i += 1) {
    const isChanged =
      changes.isDeploy || (changes.ofCpu && i === DEMAND) || (changes.ofLatency && OF_LATENCY.has(i));
    const place = i * TRACKED_COUNT + i;
    const before = covariance[place] as number;
    const added = driven + (isChanged ? DEPLOY_DRIFT ** 2 : 0);
    covariance[place] = Math.max(before, Math.min(before + added, PRIOR_VARIANCES[i] as number));
  }
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
