import {
  CFS_PERIOD_SECONDS,
  chanceOfTail,
  emptyAnswer,
  MEAN,
  P50,
  ratioAt,
  responseRatio,
} from "./queue-curve.ts";
import type { QueueAnswer, QueuePlace, Statistic } from "./queue-curve.ts";

/** Places of the parameters; all are logarithms. */
export const DEMAND = 0;
/** CPU of a container without requests, cores. */
export const HOUSEKEEPING = 1;
/** Standard deviation of the demand over its mean. */
export const VARIATION = 2;
/** Self time that takes no CPU, seconds. */
export const BASE = 3;
/** Standard deviation of that time over its mean. */
export const BASE_SPREAD = 4;
/**
 * Share of the demand that is spent outside of the self time: a request's bytes are read before its handler is called, its traces
 * are sent and its garbage collected after it. Others wait for it all the same.
 */
export const OVERHEAD = 5;
export const PARAMETER_COUNT = 6;

/** How a program uses cores. */
export interface Program {
  /** Cores that it can use at once, > 0. */
  readonly parallelism: number;
  /** One thread that takes one request after the other; else requests share the cores. */
  readonly isInOrder: boolean;
}

/** What was learnt of the parameters under each program; see `ProfileState`. */
interface TrackedParameters {
  readonly means: readonly (readonly number[])[];
  readonly inflations: readonly number[];
}

/** Parameters under a program as they are in the last window: with what a request takes now. */
export function parametersNow(
  { inflations, means }: TrackedParameters,
  program: number,
  out: Float64Array,
): Float64Array {
  out.set(means[program] as readonly number[]);
  out[DEMAND] = (out[DEMAND] as number) + (inflations[program] as number);
  return out;
}

/** What a service takes under one kind of program, out of the logarithms of its parameters. */
export interface Demands {
  demand: number;
  housekeeping: number;
  logVariation: number;
  logPeriodDemands: number;
  base: number;
  spread: number;
  /** Standard deviation of the logarithm of the time off the CPU. */
  logSpread: number;
  outside: number;
}

const LOG_PERIOD = Math.log(CFS_PERIOD_SECONDS);

export function demandsOf(parameters: ArrayLike<number>, out = emptyDemands()): Demands {
  out.demand = Math.exp(parameters[DEMAND] ?? 0);
  out.housekeeping = Math.exp(parameters[HOUSEKEEPING] ?? 0);
  out.logVariation = parameters[VARIATION] ?? 0;
  out.logPeriodDemands = LOG_PERIOD - (parameters[DEMAND] ?? 0);
  out.base = Math.exp(parameters[BASE] ?? 0);
  out.spread = Math.exp(parameters[BASE_SPREAD] ?? 0);
  out.logSpread = Math.sqrt(Math.log1p(out.spread * out.spread));
  out.outside = Math.exp(parameters[OVERHEAD] ?? -Infinity);
  return out;
}

export const emptyDemands = (): Demands => ({
  demand: 0,
  housekeeping: 0,
  logVariation: 0,
  logPeriodDemands: 0,
  base: 0,
  spread: 0,
  logSpread: 0,
  outside: 0,
});

/** A statistic of the self time, and its derivatives. */
export interface TimeAnswer {
  seconds: number;
  meanSeconds: number;
  byCores: number;
  byLoad: number;
  /** Share of it that is the response of the CPU. */
  cpuShare: number;
  /** d ln seconds / d parameter. */
  readonly byParameter: Float64Array;
}

export const emptyTimeAnswer = (): TimeAnswer => ({
  seconds: 0,
  meanSeconds: 0,
  byCores: 0,
  byLoad: 0,
  cpuShare: 0,
  byParameter: new Float64Array(PARAMETER_COUNT),
});

/** Size and load of one container, and the window over which it is measured. */
export interface TimePlace {
  /** CPU limit; undefined: none. */
  cpuCores: number | undefined;
  /** Requests per second to one container. */
  loadPerContainer: number;
  windowSeconds: number;
}

/** Quantiles of the standard normal distribution at 0.5, 0.95 and 0.99. */
const NORMAL_QUANTILES = [0, 0, 1.6448536269514722, 2.3263478740408408] as const;

/** Chance of each statistic of the response over that of its p95: medians over 44 simulated queues, see docs/models.md. */
const CPU_CHANCE = [0.7, 0.5, 1, 1.5] as const;
/** Variance of ln of each statistic of n log-normal times, times n over the variance of their logarithms: p(1 - p)/density². */
const BASE_CHANCE = [1.2, 1.57, 4.47, 13.9] as const;

const place: QueuePlace = {
  isInOrder: false,
  utilisation: 0,
  quotaShare: 1,
  logPeriodDemands: 0,
  parallelism: 1,
  logVariation: 0,
  windowDemands: 0,
};
const mean: QueueAnswer = emptyAnswer();
const percentile: QueueAnswer = emptyAnswer();

/** CPU a container can use at once: its limit or what the program can use, whichever is less. */
export const capacityOf = ({ parallelism }: Program, cpuCores: number | undefined): number =>
  Math.min(cpuCores ?? Infinity, parallelism);

/**
 * A statistic of the self time: the response of the container's CPU to the demand, less the part of it that is not self time and
 * alike for every request, plus a log-normal time off the CPU that is independent of it. Means add; distances of a percentile from the mean add as squares, exact for normal times and off
 * by 1 to 3 % in the mean for what comes up here (docs/models.md). Written into `out`; nothing is allocated.
 */
export function timeAt(
  parameters: ArrayLike<number>,
  program: Program,
  at: TimePlace,
  statistic: Statistic,
  out: TimeAnswer,
): void {
  timeOf(demandsOf(parameters, taken), program, at, statistic, out);
}

/** The same of parameters that {@link demandsOf} has taken the exponentials of. */
export function timeOf(
  demands: Demands,
  program: Program,
  at: TimePlace,
  statistic: Statistic,
  out: TimeAnswer,
): void {
  const { base, demand, logSpread, outside, spread } = demands;
  setPlace(demands, program, at);
  responseRatio(place, MEAN, mean);
  const response = insideOf(demands, mean.ratio);
  out.meanSeconds = response + base;
  if (statistic === MEAN) {
    blend(mean, demand * mean.ratio * slopeInside(mean, outside), percentile, 0);
    out.seconds = out.meanSeconds;
    differentiate(demands, at, response, out);
    out.byParameter[BASE] = base / out.seconds;
    out.byParameter[BASE_SPREAD] = 0;
    out.byParameter[OVERHEAD] = (-outside * demand * Math.min(1, mean.ratio)) / out.seconds;
    return;
  }
  responseRatio(place, statistic, percentile);
  const sign = statistic === P50 ? -1 : 1;
  const reached = insideOf(demands, percentile.ratio);
  const baseReached = baseReachedOf(demands, statistic);
  const off = Math.max(0, sign * (reached - response));
  const baseOff = Math.max(0, sign * (baseReached - base));
  const both = Math.hypot(off, baseOff);
  const share = both > 0 ? off / both : 0;
  const baseShare = both > 0 ? baseOff / both : 0;
  blend(
    mean,
    demand * mean.ratio * slopeInside(mean, outside) * (1 - share),
    percentile,
    demand * percentile.ratio * slopeInside(percentile, outside) * share,
  );
  out.seconds = out.meanSeconds + sign * both;
  differentiate(demands, at, response + share * (reached - response), out);
  const z = NORMAL_QUANTILES[statistic];
  const bySpread = (z - logSpread) * ((spread * spread) / ((1 + spread * spread) * logSpread));
  out.byParameter[BASE] = (base + baseShare * (baseReached - base)) / out.seconds;
  out.byParameter[BASE_SPREAD] = (baseShare * baseReached * bySpread) / out.seconds;
  const less = (1 - share) * Math.min(1, mean.ratio) + share * Math.min(1, percentile.ratio);
  out.byParameter[OVERHEAD] = (-outside * demand * less) / out.seconds;
}

/**
 * The seconds of {@link timeOf} alone, of a percentile.
 * @param baseOff as {@link baseOffOf} has it
 */
export function secondsOf(
  demands: Demands,
  baseOff: number,
  program: Program,
  at: TimePlace,
  statistic: Statistic,
): number {
  setPlace(demands, program, at);
  const response = insideOf(demands, ratioAt(place, MEAN));
  const reached = insideOf(demands, ratioAt(place, statistic));
  const sign = statistic === P50 ? -1 : 1;
  const off = Math.max(0, sign * (reached - response));
  return response + demands.base + sign * Math.hypot(off, baseOff);
}

/** Distance of a percentile of the time off the CPU from its mean, seconds. */
export const baseOffOf = (demands: Demands, statistic: Statistic): number =>
  Math.max(0, (statistic === P50 ? -1 : 1) * (baseReachedOf(demands, statistic) - demands.base));

/** The part of a response that is self time, seconds. */
const insideOf = ({ demand, outside }: Demands, ratio: number): number =>
  demand * (ratio - outside * Math.min(1, ratio));

/** A percentile of the time off the CPU, seconds. */
function baseReachedOf({ base, logSpread }: Demands, statistic: Statistic): number {
  const z = NORMAL_QUANTILES[statistic];
  return base * Math.exp(z * logSpread - (logSpread * logSpread) / 2);
}

/** How much of a change of the response is one of the self time: all of it but where a request takes less than the mean demand. */
const slopeInside = ({ ratio }: QueueAnswer, outside: number): number => (ratio < 1 ? 1 - outside : 1);

/**
 * Variance of ln of a statistic among windows of so many calls: of the CPU's part by simulation, of the other part that of
 * independent log-normal times. `cpuShare` is as {@link timeAt} answers it for this statistic.
 */
export function chanceOf(
  demands: Demands,
  program: Program,
  at: TimePlace,
  statistic: Statistic,
  { calls, cpuShare }: { readonly calls: number; readonly cpuShare: number },
): number {
  setPlace(demands, program, at);
  const cpu = cpuShare * cpuShare * CPU_CHANCE[statistic] * chanceOfTail(place);
  return (cpu + (1 - cpuShare) ** 2 * BASE_CHANCE[statistic] * demands.logSpread ** 2) / calls;
}

/** Of the parameters that were asked for last. */
const taken = emptyDemands();

function setPlace(demands: Demands, program: Program, at: TimePlace): void {
  const { isInOrder, parallelism } = program;
  const { demand, housekeeping } = demands;
  const used = housekeeping + Math.max(0, at.loadPerContainer) * demand;
  const cores = at.cpuCores ?? Infinity;
  place.utilisation = used / Math.min(cores, parallelism);
  place.quotaShare = cores / parallelism;
  place.logPeriodDemands = demands.logPeriodDemands;
  place.parallelism = parallelism;
  place.isInOrder = isInOrder;
  place.logVariation = demands.logVariation;
  place.windowDemands = at.windowSeconds / demand;
}

const blended: QueueAnswer = emptyAnswer();

/** Derivatives of two statistics, each times the seconds that it contributes, into {@link blended}. */
function blend(first: QueueAnswer, a: number, second: QueueAnswer, b: number): void {
  blended.byUtilisation = a * first.byUtilisation + b * second.byUtilisation;
  blended.byQuota = a * first.byQuota + b * second.byQuota;
  blended.byPeriodDemands = a * first.byPeriodDemands + b * second.byPeriodDemands;
  blended.byWindowDemands = a * first.byWindowDemands + b * second.byWindowDemands;
  blended.byVariation = a * first.byVariation + b * second.byVariation;
}

/** Chain rule from {@link blended} to load, cores and the parameters of the CPU part, which contributes `seconds`. */
function differentiate(
  { demand, housekeeping }: Demands,
  at: TimePlace,
  seconds: number,
  out: TimeAnswer,
): void {
  const capacity = Math.min(at.cpuCores ?? Infinity, place.parallelism);
  const byUse = blended.byUtilisation / capacity;
  out.cpuShare = seconds / out.seconds;
  out.byLoad = byUse * demand;
  out.byCores = place.quotaShare < 1 ? blended.byQuota / capacity : 0;
  const by = out.byParameter;
  by[DEMAND] =
    (seconds +
      out.byLoad * Math.max(0, at.loadPerContainer) -
      blended.byPeriodDemands -
      blended.byWindowDemands) /
    out.seconds;
  by[HOUSEKEEPING] = (byUse * housekeeping) / out.seconds;
  by[VARIATION] = blended.byVariation / out.seconds;
}
