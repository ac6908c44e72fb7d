import { emptyExpectation, expect, takeIn } from "./kalman.ts";
import type { Estimate } from "./kalman.ts";
import {
  BASE,
  capacityOf,
  chanceOf,
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
import type { Program, TimePlace } from "./own-time.ts";
import { bound, PRIOR } from "./profile-state.ts";
import type { ProfileState } from "./profile-state.ts";
import { RECENT_WINDOWS } from "../recent-windows.ts";
import { MEAN, P50, P95, P99 } from "./queue-curve.ts";
import type { Statistic } from "./queue-curve.ts";

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
  /** Share of the requests that these are, (0, 1]: others left no span. Default 1. */
  readonly keptRatio?: number | undefined;
  readonly meanSeconds?: number | undefined;
  readonly p50Seconds?: number | undefined;
  readonly p95Seconds?: number | undefined;
  readonly p99Seconds?: number | undefined;
  /** Mean time from a request's arrival to its end, that of its calls included. */
  readonly responseSeconds?: number | undefined;
  /** Share of the CFS periods that were throttled, [0, 1]. */
  readonly throttledRatio?: number | undefined;
  /** Share of the containers that started so recently that they may still warm up, [0, 1]. */
  readonly youngShare?: number | undefined;
  /** First window after a deploy of the service: what was learnt counts less from here. */
  readonly isAfterDeploy?: boolean | undefined;
}

/** At this share of the capacity a queue may be building up, or left by windows before. */
export const SATURATED = 0.9;
/** Standard deviation of ln CPU use in a window apart from the chance of the requests' demands: scrapes are not at its ends. */
const USE_NOISE = 0.03;
/** Standard deviation of ln latency of a saturated window: it may have begun with any queue that windows before it left. */
const SATURATED_NOISE = 3;
/** So many standard deviations from what is expected is an outlier: a single window counts for no more. */
export const OUTLIER = 3;
/** Share of throttled periods that makes a program that needs no more cores than its limit e times less likely. */
const THROTTLED_SCALE = 0.1;
/** Requests from which a percentile is measured at all: one beyond it is expected. */
export const LEAST_CALLS = [1, 2, 20, 100] as const;
/** The median of requests whose self time holds all of their demand is no less than this below the mean demand. */
const LEAST_OVERHEAD = 0.4;
/** Share of the first CPU use that is taken for housekeeping, at most: three millicores are little beside a core and all of a small container. */
const FIRST_HOUSEKEEPING = 0.1;
/** Share of the first time measured that no CPU takes, at least. */
const LEAST_BASE = 0.2;
/** The statistics of one window say together about half of what as many independent ones would. */
const SHARED_CHANCE = 0.5;

/**
 * Beside the parameters of a service: ln of what a request takes of the CPU in this window over what it otherwise takes, of
 * containers that are warm and undisturbed. It begins at 0 with each window.
 */
export const INFLATION = PARAMETER_COUNT;
export const TRACKED_COUNT = PARAMETER_COUNT + 1;

/** What CPU use alone says: no latency moves these, for a wait has many causes and the CPU that a request takes has one meter. */
const OF_CPU: ReadonlySet<number> = new Set([DEMAND, HOUSEKEEPING, INFLATION]);

/** Most requests leave no span: a window without any may have had some. */
const isSampled = ({ keptRatio = 1 }: ProfileState): boolean => keptRatio < 0.5;

/** What one window says under one kind of program. */
export interface Evidence {
  readonly state: ProfileState;
  readonly observation: ProfileObservation;
  /** Variance of ln of what is measured from load and sizes that were not the same all through the window. */
  readonly change: number;
  /** Squared error of p50, p95 and p99 less what chance explains (may be < 0); not measured: the residual as it was. */
  readonly excess: [number, number, number];
  /** Variance of {@link INFLATION} after this window. */
  cpuResidual: number;
  /** Distance of the CPU use from what was expected, and greatest distance of a latency; standard deviations, with their signs. */
  cpuSurprise: number;
  latencySurprise: number;
}

/**
 * Takes a window into the estimate of one kind of program.
 * @returns ln of how likely the window was
 */
export function takeWindow(estimate: Estimate, program: Program, evidence: Evidence): number {
  const ofCpu = takeCpu(estimate, program, evidence);
  bound(estimate);
  const ofLatency = takeLatency(estimate, program, evidence);
  return ofCpu + SHARED_CHANCE * ofLatency + throttling(program, evidence.observation);
}

/** A number that can be measured: above 0 and finite. */
export const isPositive = (value: number | undefined): value is number =>
  value !== undefined && value > 0 && value < Infinity;

/** 0 is a load, too. */
const isLoad = (value: number | undefined): value is number =>
  value !== undefined && value >= 0 && value < Infinity;

export const isCpuSeen = ({ cpuUsageCores, loadPerContainer }: ProfileObservation): boolean =>
  isLoad(loadPerContainer) && isPositive(cpuUsageCores);

export const isLatencySeen = ({ calls, loadPerContainer, ...times }: ProfileObservation): boolean =>
  isLoad(loadPerContainer) &&
  isPositive(calls) &&
  [times.meanSeconds, times.p50Seconds, times.p95Seconds, times.p99Seconds].some(isPositive);

const gradient = new Float64Array(TRACKED_COUNT);
const expected = emptyExpectation(TRACKED_COUNT);
/** The parameters as they are in this window. */
const inWindow = new Float64Array(PARAMETER_COUNT);

/**
 * Utilisation law: CPU use = housekeeping + load times demand, and no program uses more cores than it can.
 * @returns ln of the likelihood
 */
function takeCpu(estimate: Estimate, program: Program, evidence: Evidence): number {
  const { observation, state } = evidence;
  const {
    calls,
    cpuUsageCores,
    keptRatio = 1,
    loadPerContainer,
    windowSeconds,
    youngShare = 0,
  } = observation;
  if (!isLoad(loadPerContainer) || !isPositive(cpuUsageCores)) return 0;
  // What starting takes, before any request, is no housekeeping; nor what requests take that are not in the sample.
  if (loadPerContainer === 0 && (youngShare > 0 || isSampled(state))) return 0;
  const { mean } = estimate;
  const isFirstLoad = state.cpuWindows === 0 || state.lastLoad === undefined;
  if (isFirstLoad && loadPerContainer > 0) {
    const mostHousekeeping = Math.log(FIRST_HOUSEKEEPING * cpuUsageCores);
    mean[HOUSEKEEPING] = Math.min(mean[HOUSEKEEPING] as number, mostHousekeeping);
    mean[DEMAND] = Math.log(cpuUsageCores / loadPerContainer);
    bound(estimate);
  }
  const used = Math.log(cpuUsageCores);
  expectUse(estimate, { loadPerContainer, cpuUsageCores, isFull: isFull(program, observation) });
  const over = Math.max(0, used - Math.log(program.parallelism)) / USE_NOISE;
  const requests = Math.max(1, loadPerContainer * windowSeconds);
  // Load that is estimated from a sample of the requests is off by the chance of their number: of the one expected by CPU use, if that is less.
  const expectedCalls = isPositive(calls) ? calls * Math.min(1, Math.exp(used - expected.value)) : Infinity;
  const ofSample = (1 - keptRatio) / Math.max(1, expectedCalls);
  const ofDemands = (1 + Math.exp(2 * (mean[VARIATION] as number))) / requests;
  const chance = (gradient[DEMAND] as number) ** 2 * (ofDemands + ofSample);
  const innovation = used - expected.value;
  const ofReading = ofLateReading(state, innovation, loadPerContainer);
  // A use that may be of the load before says nothing of what requests take in this window.
  if (ofReading > USE_NOISE ** 2) {
    gradient[INFLATION] = 0;
    expect(estimate.covariance, expected.value, gradient, expected);
  }
  const noise = ofReading + USE_NOISE ** 2 + chance + ofUnended(observation);
  evidence.cpuSurprise = innovation / Math.sqrt(expected.variance + noise);
  evidence.cpuResidual = residualAfter(state.cpuResidual, innovation, noise);
  if (Math.abs(evidence.cpuSurprise) > OUTLIER) inflate(estimate, innovation, noise);
  return takeIn(estimate, used, expected, noise) - (over * over) / 2;
}

/**
 * Writes the expected ln(CPU use) at this load into {@link expected}. A full container is the other way round: its CPU is given, and it
 * answers fewer requests the heavier they are. If its use were predicted from that load, heavy requests would look like housekeeping. So
 * its load is predicted from its CPU; the error is stated as one of ln(CPU use), so that the filter needs no other kind of measurement.
 */
function expectUse(
  { covariance, mean }: Estimate,
  {
    cpuUsageCores,
    isFull,
    loadPerContainer,
  }: { readonly cpuUsageCores: number; readonly loadPerContainer: number; readonly isFull: boolean },
): void {
  const housekeeping = Math.exp(mean[HOUSEKEEPING] as number);
  const work = loadPerContainer * Math.exp(mean[DEMAND] as number);
  const left = cpuUsageCores - housekeeping;
  const isOfLoad = !isFull || work === 0 || left < housekeeping;
  const all = isOfLoad ? housekeeping + work : left;
  gradient.fill(0);
  const byWork = isOfLoad ? work / all : 1;
  gradient[DEMAND] = byWork;
  gradient[INFLATION] = byWork;
  gradient[HOUSEKEEPING] = housekeeping / all;
  const value = isOfLoad ? Math.log(all) : Math.log(cpuUsageCores) + Math.log(work) - Math.log(all);
  expect(covariance, value, gradient, expected);
}

/** The container has used {@link SATURATED} of what its limit or its program allows. */
const isFull = (program: Program, { cpuCores, cpuUsageCores = 0 }: ProfileObservation): boolean =>
  cpuUsageCores >= SATURATED * capacityOf(program, cpuCores);

/**
 * Variance of ln CPU use over the requests that ended in a window: where a queue of a service that is called builds up or is worked
 * off, requests that wait for it at the ends of the window had a part of their CPU in it, half of it in the mean. They are no more
 * than come while one of them waits. Those in a queue of the service itself had none, or as much as those that ended lack.
 */
function ofUnended({ meanSeconds, responseSeconds, windowSeconds }: ProfileObservation): number {
  if (!isPositive(meanSeconds) || !isPositive(responseSeconds)) return 0;
  const ofWindow = Math.max(0, responseSeconds - meanSeconds) / windowSeconds;
  return (Math.min(1, ofWindow) / 2) ** 2;
}

/**
 * Variance of ln CPU use where the load has changed and the use is still nearer to that of the load before: counters of an agent that
 * has backed off are up to a window older than it. Use that has gone further than the load is no late reading, and in the next window
 * all of it is of the new load.
 * @param innovation ln of the use over the expected one
 */
function ofLateReading({ lastLoad }: ProfileState, innovation: number, load: number): number {
  if (!isPositive(lastLoad) || !isPositive(load)) return 0;
  const change = Math.log(load) - Math.log(lastLoad);
  return change * innovation < 0 ? ((gradient[DEMAND] as number) * change) ** 2 : 0;
}

/** Of a demand of which nothing is known. */
const [, LEAST_KNOWN] = PRIOR[DEMAND] ?? [1, 1];
const LARGEST_RESIDUAL = LEAST_KNOWN ** 2;

/**
 * Variance of {@link INFLATION} after what one window says of it: all of it where nothing else is uncertain, the less the more
 * is, nothing of containers without requests.
 */
function residualAfter(before: number, innovation: number, noise: number): number {
  const share = (gradient[INFLATION] as number) ** 2;
  const total = expected.variance + noise;
  const beyond = Math.min(innovation ** 2, OUTLIER ** 2 * total) - total;
  const weight = (share * (share * before + USE_NOISE ** 2)) / total;
  return Math.max(0, Math.min(LARGEST_RESIDUAL, before + (weight * beyond) / RECENT_WINDOWS));
}

/**
 * CPU use that chance does not explain is what requests take in this window: its variance is the one that makes what was
 * measured likeliest.
 */
function inflate({ covariance }: Estimate, innovation: number, noise: number): void {
  const place = INFLATION * TRACKED_COUNT + INFLATION;
  const share = gradient[INFLATION] as number;
  if (share === 0) return;
  const unexplained = (innovation ** 2 - expected.variance - noise) / share ** 2;
  covariance[place] = Math.min((covariance[place] as number) + unexplained, LARGEST_RESIDUAL);
  expect(covariance, expected.value, gradient, expected);
}

/** A program that cannot use more cores than its limit is hardly ever throttled (a collector's threads may be). */
const throttling = (program: Program, { cpuCores, throttledRatio }: ProfileObservation): number =>
  cpuCores !== undefined && program.parallelism <= cpuCores ? -(throttledRatio ?? 0) / THROTTLED_SCALE : 0;

/** In the order in which they are taken in. */
const TAKEN = [P50, MEAN, P95, P99] as const;

function measuredSeconds(observation: ProfileObservation, statistic: Statistic): number | undefined {
  if (statistic === MEAN) return observation.meanSeconds;
  if (statistic === P50) return observation.p50Seconds;
  return statistic === P95 ? observation.p95Seconds : observation.p99Seconds;
}

const answer = emptyTimeAnswer();
const demands = emptyDemands();
const at: TimePlace = { cpuCores: 0, loadPerContainer: 0, windowSeconds: 0 };

/** @returns ln of the likelihood of the latencies */
function takeLatency(estimate: Estimate, program: Program, evidence: Evidence): number {
  const { excess, observation, state } = evidence;
  const { calls, loadPerContainer } = observation;
  if (!isLoad(loadPerContainer) || !isPositive(calls)) return 0;
  at.cpuCores = observation.cpuCores;
  at.loadPerContainer = loadPerContainer;
  at.windowSeconds = observation.windowSeconds;
  const isSaturated = isFull(program, observation);
  const ofQueue = isSaturated ? SATURATED_NOISE ** 2 : 0;
  let likelihood = 0;
  let isFirst = state.latencyWindows === 0;
  for (const statistic of TAKEN) {
    const seconds = measuredSeconds(observation, statistic);
    if (!isPositive(seconds) || calls < LEAST_CALLS[statistic]) continue;
    if (isFirst) {
      const demand = Math.exp(estimate.mean[DEMAND] as number);
      estimate.mean[BASE] = Math.log(Math.max(LEAST_BASE * seconds, seconds - demand));
      const outside = 1 - seconds / demand;
      if (outside > LEAST_OVERHEAD) estimate.mean[OVERHEAD] = Math.log(outside);
      bound(estimate);
      isFirst = false;
    }
    for (let i = 0; i < PARAMETER_COUNT; i += 1) inWindow[i] = estimate.mean[i] as number;
    inWindow[DEMAND] = (estimate.mean[DEMAND] as number) + (estimate.mean[INFLATION] as number);
    timeOf(demandsOf(inWindow, demands), program, at, statistic, answer);
    for (let i = 0; i < PARAMETER_COUNT; i += 1) gradient[i] = answer.byParameter[i] as number;
    gradient[INFLATION] = answer.byParameter[DEMAND] as number;
    expect(estimate.covariance, Math.log(answer.seconds), gradient, expected);
    const kind = statistic === MEAN ? 0 : statistic - P50;
    const residual = state.residuals[kind] as number;
    const measured = Math.log(seconds);
    const chance = ofQueue + chanceOf(demands, program, at, statistic, { calls, cpuShare: answer.cpuShare });
    if (statistic !== MEAN && !isSaturated) {
      const beyond = (measured - expected.value) ** 2 - chance - expected.variance;
      excess[kind] = Math.min(beyond, OUTLIER ** 2 * (residual + chance));
    }
    const noise = evidence.change + chance + residual;
    const distance = (measured - expected.value) / Math.sqrt(expected.variance + noise);
    if (Math.abs(distance) > Math.abs(evidence.latencySurprise)) evidence.latencySurprise = distance;
    likelihood += takeIn(estimate, measured, expected, noise, OF_CPU);
    bound(estimate);
  }
  return likelihood;
}
