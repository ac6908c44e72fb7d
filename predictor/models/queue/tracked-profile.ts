import { z } from "zod";
import { emptyExpectation, expect, takeIn, takeInBound } from "./kalman.ts";
import type { Estimate } from "./kalman.ts";
import {
  BASE,
  capacityOf,
  chanceAt,
  DEMAND,
  emptyTimeAnswer,
  HOUSEKEEPING,
  PARAMETER_COUNT,
  timeAt,
  VARIATION,
} from "./own-time.ts";
import type { Program, TimePlace } from "./own-time.ts";
import { MEAN, P50, P95, P99 } from "./queue-curve.ts";
import type { Statistic } from "./queue-curve.ts";

/**
 * Programs that are thought possible. Where latency bends and how much CPU is used at most says which it is; their
 * weights are learnt, the other parameters are tracked for each of them.
 */
const PROGRAMS: readonly Program[] = [
  { parallelism: 1, isInOrder: true },
  { parallelism: 1, isInOrder: false },
  { parallelism: 2, isInOrder: false },
  { parallelism: 4, isInOrder: false },
  { parallelism: 16, isInOrder: false },
];
/** What the filter knows of one service: plain numbers, about 3 kB as JSON. */
export const ProfileState = z.strictObject({
  /** Windows taken in. */
  windows: z.int().nonnegative(),
  /** End of the last one, ms since the Unix epoch; absent before the first. */
  atMs: z.number().optional(),
  /** Chance of each of the programs, see PROGRAMS; they add up to 1. */
  weights: z.array(z.number().min(0).max(1)).length(PROGRAMS.length),
  /** Logarithms of the parameters under each program, in the order of own-time.ts. */
  means: z.array(z.array(z.number()).length(PARAMETER_COUNT)).length(PROGRAMS.length),
  /** Their covariances, row by row. */
  covariances: z.array(z.array(z.number()).length(PARAMETER_COUNT ** 2)).length(PROGRAMS.length),
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
  [0.005, 2],
  [0.7, 0.5],
];
const BOUNDS: readonly (readonly [least: number, most: number])[] = [
  [1e-6, 100],
  [1e-5, 8],
  [0.1, 3],
  [1e-5, 100],
  [0.05, 3],
];
/** Standard deviation of ln latency that the model is taken to miss before windows have shown how much. */
const FIRST_RESIDUAL = 0.15;
/** Weight of a window in the residual variance: about the last 40 windows count. */
const RESIDUAL_WEIGHT = 0.025;
/** Random walk of each parameter's logarithm, standard deviation per square root of an hour; and at a deploy. */
const DRIFT = 0.1;
const DEPLOY_DRIFT = 0.7;
/** At this share of the capacity CPU use is a bound of the demand, no longer the demand. */
const SATURATED = 0.9;
/** Standard deviation of ln CPU use in a window apart from the chance of the requests' demands: scrapes are not at its ends. */
const USE_NOISE = 0.03;
/** Standard deviation of ln of what is measured when all containers are young (warm-up costs two to four times the CPU)... */
const YOUNG_NOISE = 1;
/** ... and under full interference (cpu-inflation measures up to 1.5 times the CPU a request). */
const INTERFERENCE_NOISE = 0.4;
/** Variance from disturbances above which a window does not count as steady: 10 %. */
const STEADY = 0.01;
/** Windows of each kind before the profile is believed: fewer cannot outvote a disturbed one. */
const LEAST_WINDOWS = 3;
/** Requests from which a percentile is measured at all: one beyond it is expected. */
const LEAST_CALLS = [1, 2, 20, 100] as const;
/** The statistics of one window say together about half of what as many independent ones would. */
const SHARED_CHANCE = 0.5;
/** No program is ever less likely than this: a deploy can change it. */
const LEAST_WEIGHT = 0.001;
/** Programs less likely than this are left out of a prediction. */
const COUNTED_WEIGHT = 0.01;

export function emptyProfile(): ProfileState {
  const covariance = Array.from({ length: PARAMETER_COUNT ** 2 }, () => 0);
  for (const [i, [, spread]] of PRIOR.entries()) covariance[i * PARAMETER_COUNT + i] = spread ** 2;
  return {
    windows: 0,
    weights: PROGRAMS.map(() => 1 / PROGRAMS.length),
    means: PROGRAMS.map(() => PRIOR.map(([median]) => Math.log(median))),
    covariances: PROGRAMS.map(() => Array.from(covariance)),
    residuals: [FIRST_RESIDUAL ** 2, FIRST_RESIDUAL ** 2, FIRST_RESIDUAL ** 2],
    cpuWindows: 0,
    latencyWindows: 0,
  };
}

/** Takes in one window. Windows must come in order of time; one that says nothing changes only the counts. */
export function track(state: ProfileState, observation: ProfileObservation): ProfileState {
  const disturbance = disturbanceOf(observation) + changeOf(state, observation);
  const estimates = state.means.map((mean, i) => ({
    mean: Float64Array.from(mean),
    covariance: Float64Array.from(state.covariances[i] ?? []),
  }));
  const excess = [0, 0, 0];
  const likelihoods = estimates.map((estimate, i) => {
    const program = PROGRAMS[i] as Program;
    drift(estimate, state, observation);
    const ofCpu = takeCpu(estimate, program, observation, state.cpuWindows === 0);
    bound(estimate);
    const context: LatencyContext = {
      state,
      observation,
      disturbance,
      excess,
      weight: state.weights[i] ?? 0,
    };
    const ofLatency = takeLatency(estimate, program, context);
    bound(estimate);
    return ofCpu + SHARED_CHANCE * ofLatency;
  });
  const hasCpu = isCpuSeen(observation);
  const hasLatency = isLatencySeen(observation);
  return {
    windows: state.windows + 1,
    atMs: observation.atMs,
    weights: weighed(state.weights, likelihoods),
    means: estimates.map(({ mean }) => Array.from(mean)),
    covariances: estimates.map(({ covariance }) => Array.from(covariance)),
    residuals:
      hasLatency && disturbance < STEADY
        ? state.residuals.map((residual, i) => residual + RESIDUAL_WEIGHT * ((excess[i] ?? 0) - residual))
        : state.residuals,
    cpuWindows: state.cpuWindows + (hasCpu ? 1 : 0),
    latencyWindows: state.latencyWindows + (hasLatency ? 1 : 0),
    ...(observation.loadPerContainer !== undefined && { lastLoad: observation.loadPerContainer }),
    ...(observation.cpuCores !== undefined && { lastCores: observation.cpuCores }),
  };
}

/** Bayes' rule, with a floor. */
function weighed(weights: readonly number[], likelihoods: readonly number[]): number[] {
  const most = Math.max(...likelihoods);
  const raised = weights.map((weight, i) => weight * Math.exp((likelihoods[i] ?? 0) - most));
  const sum = raised.reduce((total, each) => total + each, 0);
  const floored = raised.map((each) => Math.max(LEAST_WEIGHT, each / sum));
  const total = floored.reduce((all, each) => all + each, 0);
  return floored.map((each) => each / total);
}

/** What was learnt fades with time, more at a deploy, never beyond what is known of a service without any window. */
function drift({ covariance }: Estimate, state: ProfileState, observation: ProfileObservation): void {
  const hours = Math.max(0, observation.atMs - (state.atMs ?? observation.atMs)) / 3_600_000;
  const added = DRIFT ** 2 * hours + (observation.isAfterDeploy === true ? DEPLOY_DRIFT ** 2 : 0);
  for (const [i, [, spread]] of PRIOR.entries()) {
    const at = i * PARAMETER_COUNT + i;
    const before = covariance[at] as number;
    covariance[at] = Math.max(before, Math.min(before + added, spread ** 2));
  }
}

/** Variance of ln of what is measured, from young containers and other tenants. */
function disturbanceOf({ interference, youngShare }: ProfileObservation): number {
  return YOUNG_NOISE ** 2 * (youngShare ?? 0) + (INTERFERENCE_NOISE * (interference ?? 0)) ** 2;
}

/** Variance of ln latency in a window in which load per container or size changed: parts of it were at either. */
function changeOf({ lastCores, lastLoad }: ProfileState, observation: ProfileObservation): number {
  const change = (now: number | undefined, before: number | undefined): number =>
    now === undefined || before === undefined || now <= 0 || before <= 0 ? 0 : Math.log(now / before) ** 2;
  return (change(observation.loadPerContainer, lastLoad) + change(observation.cpuCores, lastCores)) / 4;
}

const isCpuSeen = ({ cpuUsageCores, loadPerContainer }: ProfileObservation): boolean =>
  loadPerContainer !== undefined && cpuUsageCores !== undefined && cpuUsageCores > 0;

const isLatencySeen = ({ calls, loadPerContainer, ...times }: ProfileObservation): boolean =>
  loadPerContainer !== undefined &&
  calls !== undefined &&
  calls > 0 &&
  [times.meanSeconds, times.p50Seconds, times.p95Seconds, times.p99Seconds].some(
    (seconds) => seconds !== undefined && seconds > 0,
  );

const gradient = new Float64Array(PARAMETER_COUNT);
const expected = emptyExpectation(PARAMETER_COUNT);

/**
 * Utilisation law: CPU use = housekeeping + load times demand, and no program uses more cores than it can.
 * @returns ln of the likelihood
 */
function takeCpu(
  estimate: Estimate,
  program: Program,
  observation: ProfileObservation,
  isFirst: boolean,
): number {
  const { cpuCores, cpuUsageCores, loadPerContainer, windowSeconds } = observation;
  if (cpuUsageCores === undefined || loadPerContainer === undefined || !(cpuUsageCores > 0)) return 0;
  const { covariance, mean } = estimate;
  if (isFirst && loadPerContainer > 0) mean[DEMAND] = Math.log(cpuUsageCores / loadPerContainer);
  const housekeeping = Math.exp(mean[HOUSEKEEPING] as number);
  const work = Math.max(0, loadPerContainer) * Math.exp(mean[DEMAND] as number);
  gradient.fill(0);
  gradient[DEMAND] = work / (housekeeping + work);
  gradient[HOUSEKEEPING] = housekeeping / (housekeeping + work);
  expect(covariance, Math.log(housekeeping + work), gradient, expected);
  const used = Math.log(cpuUsageCores);
  const over = Math.max(0, used - Math.log(program.parallelism)) / USE_NOISE;
  if (cpuUsageCores >= SATURATED * capacityOf(program, cpuCores)) {
    takeInBound(estimate, used, expected);
    return -(over * over) / 2;
  }
  const requests = Math.max(1, loadPerContainer * windowSeconds);
  const chance = (gradient[DEMAND] ** 2 * (1 + Math.exp(2 * (mean[VARIATION] as number)))) / requests;
  return takeIn(estimate, used, expected, disturbanceOf(observation) + USE_NOISE ** 2 + chance);
}

const answer = emptyTimeAnswer();
const at: TimePlace = { cpuCores: 0, loadPerContainer: 0, windowSeconds: 0 };

interface LatencyContext {
  readonly state: ProfileState;
  readonly observation: ProfileObservation;
  readonly disturbance: number;
  /** Added to: squared error beyond chance of p50, p95 and p99, times the program's weight. */
  readonly excess: number[];
  readonly weight: number;
}

/** @returns ln of the likelihood of the latencies */
function takeLatency(estimate: Estimate, program: Program, context: LatencyContext): number {
  const { disturbance, excess, observation, state, weight } = context;
  const { calls, loadPerContainer } = observation;
  if (calls === undefined || loadPerContainer === undefined || !(calls > 0)) return 0;
  at.cpuCores = observation.cpuCores;
  at.loadPerContainer = loadPerContainer;
  at.windowSeconds = observation.windowSeconds;
  const measured: readonly (readonly [Statistic, number | undefined])[] = [
    [P50, observation.p50Seconds],
    [MEAN, observation.meanSeconds],
    [P95, observation.p95Seconds],
    [P99, observation.p99Seconds],
  ];
  let likelihood = 0;
  let isFirst = state.latencyWindows === 0;
  for (const [statistic, seconds] of measured) {
    const kind = Math.max(0, statistic - P50);
    const residual = state.residuals[kind] as number;
    if (seconds === undefined || !(seconds > 0) || calls < LEAST_CALLS[statistic]) {
      if (statistic !== MEAN) excess[kind] = (excess[kind] as number) + weight * residual;
      continue;
    }
    if (isFirst) {
      const demand = Math.exp(estimate.mean[DEMAND] as number);
      estimate.mean[BASE] = Math.log(Math.max(0.2 * seconds, seconds - demand));
      isFirst = false;
    }
    timeAt(estimate.mean, program, at, statistic, answer);
    expect(estimate.covariance, Math.log(answer.seconds), answer.byParameter, expected);
    const chance = chanceAt(estimate.mean, program, at, statistic, { calls, cpuShare: answer.cpuShare });
    if (statistic !== MEAN) {
      const beyond = (Math.log(seconds) - expected.value) ** 2 - chance - expected.variance;
      excess[kind] =
        (excess[kind] as number) + weight * Math.min(Math.max(0, beyond), 9 * (residual + chance));
    }
    likelihood += takeIn(estimate, Math.log(seconds), expected, disturbance + chance + residual);
  }
  return likelihood;
}

function bound({ mean }: Estimate): void {
  for (const [i, [least, most]] of BOUNDS.entries()) {
    mean[i] = Math.min(Math.log(most), Math.max(Math.log(least), mean[i] as number));
  }
}

const STATISTICS = { 0.5: P50, 0.95: P95, 0.99: P99 } as const;
/** How long a queue of an over-full container can grow before somebody acts: four windows of 15 s. */
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
  const statistic = STATISTICS[percentile];
  let total = 0;
  let meanSeconds = 0;
  let log = 0;
  let square = 0;
  let byCores = 0;
  let byLoad = 0;
  for (let i = 0; i < PROGRAMS.length; i += 1) {
    const weight = state.weights[i] as number;
    if (weight < COUNTED_WEIGHT) continue;
    timeAt(state.means[i] as number[], PROGRAMS[i] as Program, at, statistic, answer);
    expect(state.covariances[i] as number[], Math.log(answer.seconds), answer.byParameter, expected);
    total += weight;
    meanSeconds += weight * answer.meanSeconds;
    log += weight * expected.value;
    square += weight * (expected.value ** 2 + expected.variance);
    byCores += (weight * answer.byCores) / answer.seconds;
    byLoad += (weight * answer.byLoad) / answer.seconds;
  }
  const value = log / total;
  out.meanSeconds = meanSeconds / total;
  out.tailSeconds = Math.exp(value);
  out.tailByCores = (out.tailSeconds * byCores) / total;
  out.tailByLoad = (out.tailSeconds * byLoad) / total;
  out.sigma = Math.sqrt(
    Math.max(0, square / total - value * value) + (state.residuals[statistic - P50] as number),
  );
}

/** What a request and a container without requests cost, and the cores that the program can use; undefined before any CPU use was seen. */
export function demandOf(
  state: ProfileState,
):
  | { cpuSecondsPerRequest: number; housekeepingCores: number; parallelism: number; sigma: number }
  | undefined {
  if (state.cpuWindows === 0) return undefined;
  const average = (value: (program: number) => number): number =>
    state.weights.reduce((sum, weight, i) => sum + weight * value(i), 0);
  const demand = average((i) => state.means[i]?.[DEMAND] ?? 0);
  const variance = average(
    (i) => (state.covariances[i]?.[0] ?? 0) + ((state.means[i]?.[DEMAND] ?? 0) - demand) ** 2,
  );
  return {
    cpuSecondsPerRequest: Math.exp(demand),
    housekeepingCores: Math.exp(average((i) => state.means[i]?.[HOUSEKEEPING] ?? 0)),
    parallelism: Math.exp(average((i) => Math.log(PROGRAMS[i]?.parallelism ?? 1))),
    sigma: Math.sqrt(variance),
  };
}

/**
 * Whether it has seen enough to be believed at all: at least three windows with CPU use and load and three with latency. Fewer
 * cannot outvote one disturbed window. How far it is to be believed at a size and load is said by `sigma`.
 */
export function isCalibrated(state: ProfileState): boolean {
  return state.cpuWindows >= LEAST_WINDOWS && state.latencyWindows >= LEAST_WINDOWS;
}
