import { z } from "zod";
import { takeIn, varianceAlong } from "./kalman.ts";
import type { Estimate } from "./kalman.ts";
import {
  BASE,
  capacityOf,
  DEMAND,
  emptyTimeAnswer,
  HOUSEKEEPING,
  PARALLELISM,
  PARAMETER_COUNT,
  timeAt,
  VARIATION,
} from "./own-time.ts";
import type { TimePlace } from "./own-time.ts";
import { MEAN, P50, P95, P99 } from "./queue-curve.ts";
import type { Statistic } from "./queue-curve.ts";

/** What the filter knows of one service: plain numbers, under 2 kB as JSON. */
export const ProfileState = z.strictObject({
  /** Windows taken in. */
  windows: z.int().nonnegative(),
  /** End of the last one, ms since the Unix epoch; absent before the first. */
  atMs: z.number().optional(),
  /** Estimates of the parameters, logarithms; see own-time.ts for the order. */
  means: z.array(z.number()).length(6),
  /** Their covariance, row by row. */
  covariance: z.array(z.number()).length(36),
  /** Variance of ln latency that chance does not explain, for p50, p95 and p99. */
  residuals: z.array(z.number().nonnegative()).length(3),
  /** Windows that said something of CPU per request, and of latency. */
  cpuWindows: z.int().nonnegative(),
  latencyWindows: z.int().nonnegative(),
  /** Load and CPU limit of the last window: a window in which they changed says less. */
  lastLoad: z.number().optional(),
  lastCores: z.number().optional(),
});
export type ProfileState = z.infer<typeof ProfileState>;

/** One window of one service; means over the main containers. Anything but the first two may be absent. */
export interface ProfileObservation {
  /** End of the window, ms since the Unix epoch. */
  readonly atMs: number;
  readonly windowSeconds: number;
  /** CPU limit; undefined: none. */
  readonly cpuCores: number | undefined;
  readonly cpuUsageCores?: number | undefined;
  /** Requests per second to one container. */
  readonly loadPerContainer?: number | undefined;
  /** Requests whose self time was measured, of all containers. */
  readonly calls?: number | undefined;
  readonly meanSeconds?: number | undefined;
  readonly p50Seconds?: number | undefined;
  readonly p95Seconds?: number | undefined;
  readonly p99Seconds?: number | undefined;
  /** Share of the CFS periods that were throttled, [0, 1]. */
  readonly throttledRatio?: number | undefined;
  /** Share of the containers that started so recently that they may still warm up, [0, 1]. */
  readonly youngShare?: number | undefined;
  /** Interference from other tenants on the nodes, 0 none to 1 saturated. */
  readonly interference?: number | undefined;
  /** First window after a deploy of the service: what was learnt counts less from here. */
  readonly isAfterDeploy?: boolean | undefined;
}

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

/** Before any window: median and standard deviation of the logarithm of each parameter. */
const PRIOR: readonly (readonly [median: number, spread: number])[] = [
  [0.005, 2],
  [0.003, 1.5],
  [0.7, 0.5],
  [3, 1],
  [0.005, 2],
  [0.7, 0.5],
];
const BOUNDS: readonly (readonly [least: number, most: number])[] = [
  [1e-6, 100],
  [1e-5, 8],
  [0.1, 3],
  [0.25, 64],
  [1e-5, 100],
  [0.05, 3],
];
/** Standard deviation of ln latency that a model of five numbers is taken to miss before windows have shown how much. */
const FIRST_RESIDUAL = 0.2;
/** Weight of a window in the residual variance: about the last 20 windows count. */
const RESIDUAL_WEIGHT = 0.05;
/** Random walk of each parameter's logarithm, standard deviation per square root of an hour. */
const DRIFT = 0.1;
const DEPLOY_DRIFT = 0.7;
/** At this share of the capacity CPU use is a bound of the demand, no longer the demand. */
const SATURATED = 0.9;
/** Standard deviation of ln CPU use in a window apart from the chance of the requests' demands: scrapes are not at its ends. */
const USE_NOISE = 0.05;
const MIN_CPU_WINDOWS = 3;
const MIN_LATENCY_WINDOWS = 3;

export function emptyProfile(): ProfileState {
  const covariance = Array.from({ length: PARAMETER_COUNT ** 2 }, () => 0);
  for (const [i, [, spread]] of PRIOR.entries()) covariance[i * PARAMETER_COUNT + i] = spread ** 2;
  return {
    windows: 0,
    means: PRIOR.map(([median]) => Math.log(median)),
    covariance,
    residuals: [FIRST_RESIDUAL ** 2, FIRST_RESIDUAL ** 2, FIRST_RESIDUAL ** 2],
    cpuWindows: 0,
    latencyWindows: 0,
  };
}

/** Takes in one window. Windows must come in order of time; one that says nothing changes only the counts. */
export function track(state: ProfileState, observation: ProfileObservation): ProfileState {
  const estimate: Estimate = {
    mean: Float64Array.from(state.means),
    covariance: Float64Array.from(state.covariance),
  };
  drift(estimate, state, observation);
  const noiseFactor = doubtOf(state, observation);
  const hasCpu = takeCpu(estimate, state, observation, noiseFactor);
  const residuals = [...state.residuals];
  const hasLatency = takeLatency(estimate, observation, noiseFactor, residuals, state.latencyWindows === 0);
  bound(estimate);
  return {
    windows: state.windows + 1,
    atMs: observation.atMs,
    means: [...estimate.mean],
    covariance: [...estimate.covariance],
    residuals,
    cpuWindows: state.cpuWindows + (hasCpu ? 1 : 0),
    latencyWindows: state.latencyWindows + (hasLatency ? 1 : 0),
    ...(observation.loadPerContainer !== undefined && { lastLoad: observation.loadPerContainer }),
    ...(observation.cpuCores !== undefined && { lastCores: observation.cpuCores }),
  };
}

function drift({ covariance }: Estimate, state: ProfileState, observation: ProfileObservation): void {
  const hours = Math.max(0, observation.atMs - (state.atMs ?? observation.atMs)) / 3_600_000;
  const added =
    DRIFT ** 2 * Math.min(hours, 24) + (observation.isAfterDeploy === true ? DEPLOY_DRIFT ** 2 : 0);
  for (const [i, [, spread]] of PRIOR.entries()) {
    const at = i * PARAMETER_COUNT + i;
    covariance[at] = Math.max(covariance[at] ?? 0, Math.min((covariance[at] ?? 0) + added, spread ** 2));
  }
}

/** Factor on the variance of what a disturbed window says, >= 1. */
function doubtOf({ lastCores, lastLoad }: ProfileState, observation: ProfileObservation): number {
  const change = (now: number | undefined, before: number | undefined): number =>
    now === undefined || before === undefined || now <= 0 || before <= 0 ? 0 : Math.log(now / before) ** 2;
  const changed = change(observation.loadPerContainer, lastLoad) + change(observation.cpuCores, lastCores);
  return 1 + 10 * changed + 10 * (observation.youngShare ?? 0) + 10 * (observation.interference ?? 0) ** 2;
}

const gradient = new Float64Array(PARAMETER_COUNT);

/** Utilisation law: CPU use = housekeeping + load times demand. */
function takeCpu(
  estimate: Estimate,
  state: ProfileState,
  observation: ProfileObservation,
  doubt: number,
): boolean {
  const { cpuCores, cpuUsageCores, loadPerContainer, windowSeconds } = observation;
  if (cpuUsageCores === undefined || loadPerContainer === undefined || !(cpuUsageCores > 0)) return false;
  const { mean } = estimate;
  if (state.cpuWindows === 0 && loadPerContainer > 0) {
    mean[DEMAND] = Math.log(cpuUsageCores / loadPerContainer) - 0.1;
  }
  const of = (i: number): number => Math.exp(mean[i] ?? 0);
  if (cpuUsageCores > of(PARALLELISM)) mean[PARALLELISM] = Math.log(cpuUsageCores);
  const work = loadPerContainer * of(DEMAND);
  const expected = of(HOUSEKEEPING) + work;
  const capacity = capacityOf(mean, cpuCores);
  if (cpuUsageCores >= SATURATED * capacity && expected >= cpuUsageCores) return true;
  gradient.fill(0);
  gradient[DEMAND] = work / expected;
  gradient[HOUSEKEEPING] = of(HOUSEKEEPING) / expected;
  const requests = Math.max(1, loadPerContainer * windowSeconds);
  const chance = (1 + of(VARIATION) ** 2) / requests;
  takeIn(estimate, Math.log(cpuUsageCores / expected), gradient, doubt * (USE_NOISE ** 2 + chance));
  return true;
}

const answer = emptyTimeAnswer();
const at: TimePlace = { cpuCores: 0, loadPerContainer: 0, windowSeconds: 0 };

/** Relative variance of a statistic of n exponential times, times n. */
const CHANCE = [1, 1 / Math.log(2) ** 2, 19 / Math.log(20) ** 2, 99 / Math.log(100) ** 2] as const;

function takeLatency(
  estimate: Estimate,
  observation: ProfileObservation,
  doubt: number,
  residuals: number[],
  isFirst: boolean,
): boolean {
  const { calls, loadPerContainer } = observation;
  if (calls === undefined || loadPerContainer === undefined || !(calls > 0)) return false;
  at.cpuCores = observation.cpuCores;
  at.loadPerContainer = loadPerContainer;
  at.windowSeconds = observation.windowSeconds;
  const measured: readonly (readonly [Statistic, number | undefined])[] = [
    [P50, observation.p50Seconds],
    [MEAN, observation.meanSeconds],
    [P95, observation.p95Seconds],
    [P99, calls >= 100 ? observation.p99Seconds : undefined],
  ];
  let any = false;
  for (const [statistic, seconds] of measured) {
    if (seconds === undefined || !(seconds > 0)) continue;
    if (isFirst && !any) {
      const demand = Math.exp(estimate.mean[DEMAND] ?? 0);
      estimate.mean[BASE] = Math.log(Math.max(0.2 * seconds, seconds - demand));
    }
    any = true;
    timeAt(estimate.mean, at, statistic, answer);
    const used =
      (loadPerContainer * Math.exp(estimate.mean[DEMAND] ?? 0)) / capacityOf(estimate.mean, at.cpuCores);
    const room = Math.max(0.05, 1 - used);
    const chance = Math.min(4, (CHANCE[statistic] / calls) * ((1 + Math.min(1, used)) / (room * room)));
    const kind = statistic === MEAN ? -1 : statistic - P50;
    const residual = residuals[Math.max(0, kind)] ?? 0;
    const innovation = Math.log(seconds / answer.seconds);
    if (kind >= 0 && doubt < 1.5) {
      const excess = innovation ** 2 - chance - varianceAlong(estimate.covariance, answer.byParameter);
      const bounded = Math.min(Math.max(0, excess), 1);
      residuals[kind] = residual + RESIDUAL_WEIGHT * (bounded - residual);
    }
    takeIn(estimate, innovation, answer.byParameter, doubt * (chance + residual));
  }
  return any;
}

function bound({ mean }: Estimate): void {
  for (const [i, [least, most]] of BOUNDS.entries()) {
    mean[i] = Math.min(Math.log(most), Math.max(Math.log(least), mean[i] ?? 0));
  }
}

const STATISTICS = { 0.5: P50, 0.95: P95, 0.99: P99 } as const;
/** How far a queue can grow before somebody acts: four windows of 15 s. */
const HORIZON_SECONDS = 60;

/**
 * Self time at any size and load, written into `out`; allocates nothing. Meaningful once {@link isCalibrated}; finite and > 0
 * always. `sigma` grows with the distance from the sizes and loads seen.
 */
export function predictOwnTime(
  state: ProfileState,
  place: { cpuCores: number | undefined; loadPerContainer: number },
  percentile: 0.5 | 0.95 | 0.99,
  out: OwnTime,
): void {
  at.cpuCores = place.cpuCores;
  at.loadPerContainer = place.loadPerContainer;
  at.windowSeconds = HORIZON_SECONDS;
  timeAt(state.means, at, MEAN, answer);
  out.meanSeconds = answer.seconds;
  const statistic = STATISTICS[percentile];
  timeAt(state.means, at, statistic, answer);
  out.tailSeconds = answer.seconds;
  out.tailByCores = answer.byCores;
  out.tailByLoad = answer.byLoad;
  const residual = state.residuals[statistic - P50] ?? 0;
  out.sigma = Math.sqrt(varianceAlong(state.covariance, answer.byParameter) + residual);
}

/** What a request and a container without requests cost, and the cores that the program can use; undefined before any CPU use was seen. */
export function demandOf(
  state: ProfileState,
):
  | { cpuSecondsPerRequest: number; housekeepingCores: number; parallelism: number; sigma: number }
  | undefined {
  if (state.cpuWindows === 0) return undefined;
  const of = (i: number): number => Math.exp(state.means[i] ?? 0);
  return {
    cpuSecondsPerRequest: of(DEMAND),
    housekeepingCores: of(HOUSEKEEPING),
    parallelism: of(PARALLELISM),
    sigma: Math.sqrt(Math.max(0, state.covariance[DEMAND * PARAMETER_COUNT + DEMAND] ?? 0)),
  };
}

/**
 * Whether it has seen enough to be believed at all: at least three windows with CPU use and load and three with latency. Fewer
 * cannot outvote one disturbed window. How far it is to be believed at a size and load is said by `sigma`.
 */
export function isCalibrated(state: ProfileState): boolean {
  return state.cpuWindows >= MIN_CPU_WINDOWS && state.latencyWindows >= MIN_LATENCY_WINDOWS;
}
