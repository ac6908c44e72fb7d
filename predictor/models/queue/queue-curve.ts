import { TableLookup } from "./table-lookup.ts";
import { IN_ORDER, SHARED } from "./table.ts";
import {
  CHANCE,
  decode,
  PARALLELISMS,
  PERIOD_DEMANDS,
  QUOTA_SHARES,
  UTILISATIONS,
  VARIATIONS,
} from "./table-grid.ts";

/** Statistics of the response time, by their place in the table. */
export const MEAN = 0;
export const P50 = 1;
export const P95 = 2;
export const P99 = 3;
export type Statistic = typeof MEAN | typeof P50 | typeof P95 | typeof P99;

/** Length of a CFS period, seconds: the kernel's default and the one Kubernetes sets (cpu-cfs-quota-period). */
export const CFS_PERIOD_SECONDS = 0.1;

/** Where a container stands, without units of time. Capacity is min(cores of the CPU limit, parallelism). */
export interface QueuePlace {
  /** CPU asked for over capacity, >= 0; above 1 the queue grows as long as the window lasts. */
  utilisation: number;
  /** Cores of the CPU limit over parallelism, > 0; 1 and above: the quota is never used up. */
  quotaShare: number;
  /** CFS period over the mean demand, > 0. Times cores of the limit it is the quota of one period in requests. */
  periodDemands: number;
  /** Cores that the program can use at once, > 0; 0.5: its threads get half a core. */
  parallelism: number;
  /** Standard deviation of the demand over its mean, > 0. */
  variation: number;
  /** One thread takes one request after the other (parallelism at most 1); else requests share the cores evenly. */
  isInOrder: boolean;
  /** Length of the window over the mean demand, >= 0: how far the queue of an over-full container grows. */
  windowDemands: number;
}

/** Response time over the mean demand, and derivatives of its logarithm. */
export interface QueueAnswer {
  ratio: number;
  /** By utilisation, >= 0. The others are by the logarithm of the input. */
  byUtilisation: number;
  byQuotaShare: number;
  byPeriodDemands: number;
  byVariation: number;
}

export const emptyAnswer = (): QueueAnswer => ({
  ratio: 0,
  byUtilisation: 0,
  byQuotaShare: 0,
  byPeriodDemands: 0,
  byVariation: 0,
});

const UTILISATION = 0;
const QUOTA_SHARE = 1;
const PERIOD = 2;
const VARIATION = 3;
const PARALLELISM = 4;

const logs = (values: readonly number[]): Float64Array => Float64Array.from(values, Math.log);
const AXES = [
  Float64Array.from(UTILISATIONS, (utilisation) => -Math.log(1 - utilisation)),
  logs(QUOTA_SHARES),
  logs(PERIOD_DEMANDS),
  logs(VARIATIONS),
  logs(PARALLELISMS),
];
const FIRST = AXES.map((points) => points[0] ?? 0);
const shared = new TableLookup(decode(SHARED), AXES);
const inOrder = new TableLookup(decode(IN_ORDER), AXES.slice(0, PARALLELISM));

/** The table ends here; beyond it the curve goes on along its tangent. */
export const LAST_UTILISATION = UTILISATIONS[UTILISATIONS.length - 1] ?? 0;
/** Below this quota share it counts how large the quota is, not how many cores use it up: the curve is read at fewer cores. */
const LEAST_SHARE = 0.1;
/** Logarithm of the least share that the table is extended to, a thousandth of a core for one thread. */
const LEAST_LOG_SHARE = Math.log(0.001);
/** How much of a window has passed when a request of each statistic arrives, where the queue grows all the time. */
const PASSED = [0.5, 0.5, 0.95, 0.99] as const;

/** Axis of the table that a change of the quota moves along. */
let quotaAxis = QUOTA_SHARE;

/**
 * Response time of a request (mean or percentile) at one container, over the mean demand; written into `out`. Finite and > 0
 * for finite input, not falling in utilisation, convex in it beyond 0.97: along the tangent up to 1, then at least as steep
 * as the queue grows over the window. Allocates nothing.
 */
export function responseRatio(place: QueuePlace, statistic: Statistic, out: QueueAnswer): void {
  const lookup = setPoint(place);
  lookup.read(statistic);
  const { slopes } = lookup;
  const { parallelism, quotaShare, utilisation } = place;
  out.ratio = Math.exp(lookup.value) / Math.min(1, parallelism);
  out.byUtilisation =
    (slopes[UTILISATION] as number) / (1 - Math.min(Math.max(0, utilisation), LAST_UTILISATION));
  out.byPeriodDemands = slopes[PERIOD] as number;
  out.byVariation = slopes[VARIATION] as number;
  out.byQuotaShare = quotaShare < 1 ? (slopes[quotaAxis] as number) : 0;
  if (utilisation > LAST_UTILISATION) goOn(place, statistic, out);
}

/**
 * Variance of ln p95 among windows, times the requests of a window: 4 to 10 at low load, hundreds near saturation, where
 * requests of one window have met the same queue.
 */
export function chanceOfTail(place: QueuePlace): number {
  const lookup = setPoint(place);
  lookup.read(CHANCE);
  return Math.exp(lookup.value);
}

/** A program that uses less than one core is one slower core: the same in units of a longer demand. */
function setPoint(place: QueuePlace): TableLookup {
  const { isInOrder, parallelism, periodDemands, quotaShare, utilisation, variation } = place;
  const lookup = isInOrder ? inOrder : shared;
  let cores = Math.max(1, parallelism);
  let share = Math.min(1, quotaShare);
  quotaAxis = QUOTA_SHARE;
  if (share < LEAST_SHARE && parallelism > 1) {
    const quotaCores = share * cores;
    cores = Math.max(1, quotaCores / LEAST_SHARE);
    share = quotaCores / cores;
    if (cores > 1) quotaAxis = PARALLELISM;
  }
  const used = Math.min(LAST_UTILISATION, Math.max(0, utilisation));
  lookup.place(UTILISATION, -Math.log(1 - used), 0);
  lookup.place(QUOTA_SHARE, Math.log(share), LEAST_LOG_SHARE);
  lookup.place(PERIOD, Math.log(periodDemands * Math.min(1, parallelism)), FIRST[PERIOD] as number);
  lookup.place(VARIATION, Math.log(variation), FIRST[VARIATION] as number);
  if (!isInOrder) lookup.place(PARALLELISM, Math.log(cores), 0);
  return lookup;
}

/** Beyond the table. What depends on the window alone does not depend on the other inputs. */
function goOn({ utilisation, windowDemands }: QueuePlace, statistic: Statistic, out: QueueAnswer): void {
  const tangent = out.ratio * out.byUtilisation;
  const along = out.ratio + tangent * (Math.min(1, utilisation) - LAST_UTILISATION);
  const slope = utilisation > 1 ? Math.max(tangent, (PASSED[statistic] as number) * windowDemands) : tangent;
  const total = along + slope * Math.max(0, utilisation - 1);
  const share = along / total;
  out.ratio = total;
  out.byUtilisation = slope / total;
  out.byQuotaShare *= share;
  out.byPeriodDemands *= share;
  out.byVariation *= share;
}
