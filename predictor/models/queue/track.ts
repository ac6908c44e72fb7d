import type { Estimate } from "./kalman.ts";
import { BASE, BASE_SPREAD, DEMAND, OVERHEAD, PARAMETER_COUNT, VARIATION } from "./own-time.ts";
import { CURVE_ERROR, LEAST_WEIGHT, LEAST_WINDOWS, PRIOR, PROGRAMS } from "./profile-state.ts";
import type { ProfileState } from "./profile-state.ts";
import { RECENT_WINDOWS } from "../recent-windows.ts";
import {
  INFLATION,
  isCpuSeen,
  isLatencySeen,
  isPositive,
  OUTLIER,
  takeWindow,
  TRACKED_COUNT,
} from "./take-window.ts";
import type { Evidence, ProfileObservation } from "./take-window.ts";

/** Random walk of each parameter's logarithm, standard deviation per square root of an hour; and at a deploy. */
const DRIFT = 0.1;
const DEPLOY_DRIFT = 0.7;
/** Standard deviation of ln of what is measured when all containers are young (warm-up costs two to four times the CPU). */
const YOUNG_NOISE = 1;

/** Takes in one window. Windows must come in order of time; one that says nothing changes only the counts. */
export function track(state: ProfileState, observation: ProfileObservation): ProfileState {
  const [inflation, change] = [inflationOf(observation), changeOf(state, observation)];
  const isSteady = inflation + change < CURVE_ERROR ** 2;
  const changed = changesIn(state, observation);
  const place = placeAfter(state, observation, changed.ofCpu || changed.ofLatency);
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
    return Object.assign({ evidence, likelihood }, close());
  });
  const average = (value: (each: Evidence) => number): number =>
    taken.reduce((sum, { evidence }, i) => sum + (state.weights[i] ?? 0) * value(evidence), 0);
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
  const largest = Math.max(...likelihoods);
  const raised = weights.map((weight, i) => weight * Math.exp((likelihoods[i] ?? 0) - largest));
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
    const variance = covariance[place] as number;
    const added = driven + (isChanged ? DEPLOY_DRIFT ** 2 : 0);
    covariance[place] = Math.max(variance, Math.min(variance + added, PRIOR_VARIANCES[i] as number));
  }
}

/** Variance of {@link INFLATION}: of young containers. */
const inflationOf = ({ youngShare = 0 }: ProfileObservation): number => YOUNG_NOISE ** 2 * youngShare;

/** Variance of ln latency in a window in which load per container or size changed: parts of it were at either. */
function changeOf({ lastCores, lastLoad }: ProfileState, observation: ProfileObservation): number {
  const change = (now: number | undefined, before: number | undefined): number =>
    isPositive(now) && isPositive(before) ? (Math.log(now) - Math.log(before)) ** 2 : 0;
  return (change(observation.loadPerContainer, lastLoad) + change(observation.cpuCores, lastCores)) / 4;
}

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
