import { TableLookup } from "./table-lookup.ts";
import { IN_ORDER, SHARED } from "./table.ts";
import {
  CHANCE,
  decode,
  PARALLELISMS,
  PERIOD_DEMANDS,
  QUOTA_SHARES,
  STALL_COUNT,
  STATISTIC_COUNT,
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
  /** ln of the CFS period over the mean demand. Times cores of the limit the period is the quota in requests. */
  logPeriodDemands: number;
  /** Cores that the program can use at once, > 0; 0.5: its threads get half a core. */
  parallelism: number;
  /** ln of the standard deviation of the demand over its mean. */
  logVariation: number;
  /** One thread takes one request after the other (parallelism at most 1); else requests share the cores evenly. */
  isInOrder: boolean;
  /** Length of the window over the mean demand, >= 0: how far the queue of an over-full container grows. */
  windowDemands: number;
}

/** Response time over the mean demand, and derivatives of its logarithm. */
export interface QueueAnswer {
  ratio: number;
  /** By utilisation at the same quota, that is by load, >= 0. */
  byUtilisation: number;
  /** By ln of the quota at the same load, <= 0. The others are by the logarithm of the input, too. */
  byQuota: number;
  byPeriodDemands: number;
  byVariation: number;
  byWindowDemands: number;
}

export const emptyAnswer = (): QueueAnswer => ({
  ratio: 0,
  byUtilisation: 0,
  byQuota: 0,
  byPeriodDemands: 0,
  byVariation: 0,
  byWindowDemands: 0,
});

const logs = (values: readonly number[]): Float64Array => Float64Array.from(values, Math.log);
const UTILISATION_AXIS = Float64Array.from(UTILISATIONS, (utilisation) => -Math.log(1 - utilisation));
const FREE_AXES = [UTILISATION_AXIS, logs(VARIATIONS), logs(PARALLELISMS)];
const STALL_AXES = [
  UTILISATION_AXIS,
  logs(QUOTA_SHARES),
  logs(PERIOD_DEMANDS),
  logs(VARIATIONS),
  logs(PARALLELISMS),
];

/** Tables of one way to serve requests: response without a quota, and the factor that a quota puts on it. */
interface Tables {
  readonly free: TableLookup;
  readonly stall: TableLookup;
  readonly hasParallelism: boolean;
}

const tablesOf = ({ free, stall }: { free: string; stall: string }, hasParallelism: boolean): Tables => ({
  free: new TableLookup(decode(free), FREE_AXES.slice(0, hasParallelism ? 3 : 2), STATISTIC_COUNT),
  stall: new TableLookup(decode(stall), STALL_AXES.slice(0, hasParallelism ? 5 : 4), STALL_COUNT),
  hasParallelism,
});
const shared = tablesOf(SHARED, true);
const inOrder = tablesOf(IN_ORDER, false);

/** The tables end here. Beyond it the curve goes on straight, as steep as 1 / (1 - utilisation) is here. */
export const LAST_UTILISATION = UTILISATIONS[UTILISATIONS.length - 1] ?? 0;
const ROOM = 1 - LAST_UTILISATION;
/** Below this quota share it counts how large the quota is, not how many cores use it up: the curve is read at fewer cores. */
const LEAST_SHARE = QUOTA_SHARES[1];
/** Below the first quota share the response is as one over it, down to a thirtieth (a millicore for one thread). */
const FIRST_LOG_SHARE = Math.log(QUOTA_SHARES[0]);
const MOST_LOG_BELOW = Math.log(30);
/** The tables end here: above, the cores that the quota leaves unused say nothing. */
const MOST_PARALLELISM = PARALLELISMS[PARALLELISMS.length - 1] ?? 1;
/** How much of a window has passed when a request of each statistic arrives, where the queue grows all the time. */
const PASSED = [0.5, 0.5, 0.95, 0.99] as const;

/** Where the curve is read: utilisation of the cores while they run, and what a change of the quota changes. */
const point = { busy: 0, share: 1, isFewerCores: false, hasQuota: false, logBelow: 0, byShare: 0 };
/** A part of the answer: its logarithm, and the slopes of that. */
const free = { log: 0, byBusy: 0 };
const stall = { log: 0, byUtilisation: 0, scale: 1 };

/**
 * Response time of a request (mean or percentile) at one container, over the mean demand; written into `out`. It is the
 * response without a quota at this load, times what the quota adds. Finite and > 0 for finite input, not falling with load,
 * not rising with the quota at the same load. Beyond utilisation 1 what a queue grows in the window is added. Allocates
 * nothing.
 */
export function responseRatio(place: QueuePlace, statistic: Statistic, out: QueueAnswer): void {
  const tables = setPoint(place);
  const utilisation = Math.max(0, place.utilisation);
  readFree(tables.free, statistic);
  readStall(tables.stall, statistic, utilisation);
  const { scale } = stall;
  const freeSlopes = tables.free.slopes;
  const stallSlopes = tables.stall.slopes;
  const byCores = tables.hasParallelism ? (freeSlopes[2] as number) + scale * (stallSlopes[4] as number) : 0;
  out.ratio = Math.exp(free.log + stall.log) / Math.min(1, place.parallelism);
  out.byUtilisation = free.byBusy * point.share + stall.byUtilisation;
  out.byPeriodDemands = scale * (stallSlopes[2] as number);
  out.byVariation = (freeSlopes[1] as number) + scale * (stallSlopes[3] as number);
  out.byWindowDemands = 0;
  out.byQuota = 0;
  if (place.quotaShare < 1) {
    let along = scale * (point.logBelow > 0 ? point.byShare : (stallSlopes[1] as number));
    if (point.isFewerCores) along = byCores - free.byBusy * point.busy;
    else if (!point.hasQuota) along = -free.byBusy * point.busy;
    out.byQuota = along - stall.byUtilisation * utilisation;
  }
  if (utilisation > 1) addGrowth(place, (PASSED[statistic] as number) * place.windowDemands, out);
}

/** {@link responseRatio} without its slopes. */
export function ratioAt(place: QueuePlace, statistic: Statistic): number {
  const tables = setPoint(place);
  const utilisation = Math.max(0, place.utilisation);
  const log = freeLog(tables.free.valueOf(statistic)) + stallLog(tables.stall, statistic, utilisation);
  const ratio = Math.exp(log) / Math.min(1, place.parallelism);
  const growth = (PASSED[statistic] as number) * place.windowDemands;
  return utilisation > 1 ? ratio + growth * (utilisation - 1) : ratio;
}

/**
 * Variance of ln p95 among windows, times the requests of a window: 3 to 10 at low load, hundreds near saturation, where
 * requests of one window have met the same queue.
 */
export function chanceOfTail(place: QueuePlace): number {
  return Math.exp(setPoint(place).stall.valueOf(CHANCE));
}

/** The place that the point was set to last: several statistics are read at each. */
const last: QueuePlace = {
  utilisation: Number.NaN,
  quotaShare: 0,
  logPeriodDemands: 0,
  parallelism: 0,
  logVariation: 0,
  isInOrder: false,
  windowDemands: 0,
};

function setPoint(place: QueuePlace): Tables {
  const tables = place.isInOrder ? inOrder : shared;
  if (
    last.utilisation === place.utilisation &&
    last.quotaShare === place.quotaShare &&
    last.logPeriodDemands === place.logPeriodDemands &&
    last.parallelism === place.parallelism &&
    last.logVariation === place.logVariation &&
    last.isInOrder === place.isInOrder
  ) {
    return tables;
  }
  last.utilisation = place.utilisation;
  last.quotaShare = place.quotaShare;
  last.logPeriodDemands = place.logPeriodDemands;
  last.parallelism = place.parallelism;
  last.logVariation = place.logVariation;
  last.isInOrder = place.isInOrder;
  movePoint(place, tables);
  return tables;
}

/** A program that uses less than one core is one slower core: the same in units of a longer demand. */
function movePoint(place: QueuePlace, tables: Tables): void {
  const { logPeriodDemands, logVariation, parallelism, quotaShare, utilisation } = place;
  let cores = Math.min(MOST_PARALLELISM, Math.max(1, parallelism));
  let share = Math.min(1, quotaShare * Math.max(1, parallelism / MOST_PARALLELISM));
  point.isFewerCores = false;
  if (share < LEAST_SHARE && cores > 1) {
    const quotaCores = share * cores;
    cores = Math.max(1, quotaCores / LEAST_SHARE);
    share = quotaCores / cores;
    point.isFewerCores = cores > 1;
  }
  point.share = share;
  point.hasQuota = share < 1;
  point.busy = Math.max(0, utilisation) * share;
  const logShare = Math.log(share);
  const below = Math.max(0, FIRST_LOG_SHARE - logShare);
  point.logBelow = Math.min(below, MOST_LOG_BELOW);
  point.byShare = below < MOST_LOG_BELOW ? -1 : 0;
  const { free, stall } = tables;
  free.point[0] = -Math.log(1 - Math.min(LAST_UTILISATION, point.busy));
  free.point[1] = logVariation;
  stall.point[0] = -Math.log(1 - Math.min(LAST_UTILISATION, Math.max(0, utilisation)));
  stall.point[1] = logShare;
  stall.point[2] = parallelism < 1 ? logPeriodDemands + Math.log(parallelism) : logPeriodDemands;
  stall.point[3] = logVariation;
  if (tables.hasParallelism) {
    const logCores = Math.log(cores);
    free.point[2] = logCores;
    stall.point[4] = logCores;
  }
  free.move();
  stall.move();
}

const freeLog = (value: number): number =>
  point.busy > LAST_UTILISATION ? value + Math.log1p((point.busy - LAST_UTILISATION) / ROOM) : value;

function readFree(lookup: TableLookup, statistic: Statistic): void {
  lookup.read(statistic);
  const over = Math.max(0, point.busy - LAST_UTILISATION);
  free.log = freeLog(lookup.value);
  free.byBusy = over > 0 ? 1 / (ROOM + over) : (lookup.slopes[0] as number) / (1 - point.busy);
}

/** Beyond the table the part above 1 grows: without a quota the factor stays 1. */
function stallLog(lookup: TableLookup, statistic: Statistic, utilisation: number): number {
  if (!point.hasQuota) return 0;
  const log = lookup.valueOf(statistic) + point.logBelow;
  if (!(utilisation > LAST_UTILISATION)) return log;
  const last = Math.exp(log);
  return Math.log(last + ((last - 1) * (utilisation - LAST_UTILISATION)) / ROOM);
}

/** The same, and its slopes. */
function readStall(lookup: TableLookup, statistic: Statistic, utilisation: number): void {
  stall.log = 0;
  stall.scale = 1;
  stall.byUtilisation = 0;
  if (!point.hasQuota) {
    lookup.slopes.fill(0);
    return;
  }
  lookup.read(statistic);
  stall.log = lookup.value + point.logBelow;
  if (!(utilisation > LAST_UTILISATION)) {
    stall.byUtilisation = (lookup.slopes[0] as number) / (1 - utilisation);
    return;
  }
  const over = utilisation - LAST_UTILISATION;
  const last = Math.exp(stall.log);
  const factor = last + ((last - 1) * over) / ROOM;
  stall.log = Math.log(factor);
  stall.scale = (last * (1 + over / ROOM)) / factor;
  stall.byUtilisation = (last - 1) / ROOM / factor;
}

/** A queue that grows all through the window; it depends on utilisation and window alone. */
function addGrowth({ quotaShare, utilisation }: QueuePlace, growth: number, out: QueueAnswer): void {
  const total = out.ratio + growth * (utilisation - 1);
  const share = out.ratio / total;
  out.ratio = total;
  out.byUtilisation = share * out.byUtilisation + growth / total;
  out.byQuota = share * out.byQuota - (quotaShare < 1 ? (growth * utilisation) / total : 0);
  out.byPeriodDemands *= share;
  out.byVariation *= share;
  out.byWindowDemands = 1 - share;
}
