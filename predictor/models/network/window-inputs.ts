import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import { PROGRAMS } from "../queue/profile-state.ts";
import type { ProfileState } from "../queue/profile-state.ts";
import { isCalibrated } from "../queue/tracked-profile.ts";
import type { ProfileObservation } from "../queue/tracked-profile.ts";
import type { Surroundings } from "./surroundings.ts";
import type { CurveAnswers } from "./curve.ts";
import { ANCHOR_INPUTS, ANCHOR_KEPT, WINDOW_INPUTS } from "./shape.ts";
import { squash } from "./smooth.ts";

/** One window of one service, as the network takes it in. */
export interface NetworkWindow {
  readonly observation: ProfileObservation;
  readonly surroundings: Surroundings;
  /** p95 of the slowest container over that of all. */
  readonly worstRatio?: number | undefined;
  /** Mean time that callers wait before a handler begins, s. */
  readonly transitSeconds?: number | undefined;
}

/** Fading means that inputs are relative to, all of logarithms: p95, load, limit, CPU of a request, and measured over what the curve said. */
export const TIME = 0;
export const LOAD = 1;
export const CORES = 2;
export const DEMAND = 3;
const SURPRISE = 4;
const ANCHORS = 5;

/** Sums of values, then of their weights. */
export type Anchors = readonly number[];
export const NO_ANCHORS: Anchors = Array.from({ length: 2 * ANCHORS }, () => 0);

/** Requests per second below which loads are one. */
export const LEAST_LOAD = 1e-3;
const LOG_PERIOD = Math.log(0.1);
/** ln CPU time over ln p95 where CPU was never seen. */
const UNSEEN_DEMAND = -1;
const FIRST_TIME = Math.log(0.01);

const isKnown = (anchors: Anchors, which: number): boolean => (anchors[ANCHORS + which] as number) > 0;

/** The fading mean, or what stands for it before any window said it. */
export function anchorOf(anchors: Anchors, which: number): number {
  const weight = anchors[ANCHORS + which] as number;
  if (weight > 0) return (anchors[which] as number) / weight;
  if (which === DEMAND) return anchorOf(anchors, TIME) + UNSEEN_DEMAND;
  return which === TIME ? FIRST_TIME : 0;
}

export const hasTime = (anchors: Anchors): boolean => isKnown(anchors, TIME);
export const hasCores = (anchors: Anchors): boolean => isKnown(anchors, CORES);

/** ln of a load, where loads that are hardly any are one. */
export const logLoad = (load: number): number => Math.log(Math.max(LEAST_LOAD, load));

const logOf = (value: number | undefined): number =>
  value !== undefined && value > 0 && value < Infinity ? Math.log(value) : Number.NaN;

/** What of a window is used more than once, as logarithms; NaN where it was not measured. */
export interface WindowLogs {
  readonly time: number;
  readonly load: number;
  readonly cores: number;
  readonly cpu: number;
  readonly demand: number;
}

/** Calls from which a p95 says something. */
export const LEAST_CALLS = 20;

export function logsOf({ calls = 0, ...seen }: ProfileObservation): WindowLogs {
  const hasLoad = (seen.loadPerContainer ?? 0) > LEAST_LOAD;
  const cpu = logOf(seen.cpuUsageCores);
  const load = logLoad(seen.loadPerContainer ?? 0);
  return {
    time: calls >= LEAST_CALLS ? logOf(seen.p95Seconds) : Number.NaN,
    load,
    cores: logOf(seen.cpuCores),
    cpu,
    demand: hasLoad ? cpu - load : Number.NaN,
  };
}

/** @param surprise ln of the p95 over what the curve said; NaN: it said nothing */
export function anchorsAfter(
  before: Anchors,
  { cores, demand, load, time }: WindowLogs,
  surprise: number,
): number[] {
  const after = before.map((each) => ANCHOR_KEPT * each);
  for (const [which, value] of [time, load, cores, demand, surprise].entries()) {
    if (Number.isNaN(value)) continue;
    after[which] = (after[which] as number) + value;
    after[ANCHORS + which] = (after[ANCHORS + which] as number) + 1;
  }
  return after;
}

/** What the window before was, as logarithms. */
export interface LastPlace {
  readonly load: number;
  /** NaN: no limit. */
  readonly cores: number;
}

export interface Seen {
  readonly window: NetworkWindow;
  readonly logs: WindowLogs;
  /** With this window. */
  readonly anchors: Anchors;
  readonly last: LastPlace | undefined;
  /** Before this window. */
  readonly profile: ProfileState;
  readonly curves: CurveAnswers;
}

/** ln of the p95 over what the curve said of it before. */
export const surpriseOf = (profile: ProfileState, { time }: WindowLogs, { logs }: CurveAnswers): number =>
  isCalibrated(profile) ? squash(time - (logs[0] as number), 3) : Number.NaN;

const orNothing = (value: number): number => (Number.isNaN(value) ? 0 : value);
const flag = (value: number | undefined): number => (value === undefined || Number.isNaN(value) ? 0 : 1);

/**
 * Writes what the first layer sees of a window: all of it free of size (differences, shares, ratios) or held within bounds, so
 * that units and numbers of requests that no training had do little. What is not known is 0, with a 0 beside it.
 */
export function writeWindow(seen: Seen, out: Float64Array): void {
  let place = 0;
  const put = (value: number): void => {
    out[place] = value;
    place += 1;
  };
  const putFlagged = (value: number): void => {
    put(orNothing(value));
    put(flag(value));
  };
  putObservation(seen, put, putFlagged);
  putChanges(seen, put);
  putCurves(seen, put);
  if (place !== WINDOW_INPUTS) throw new RangeError(`a window has ${place} inputs`);
}

function putObservation(
  { logs, window }: Seen,
  put: (value: number) => void,
  putFlagged: (value: number) => void,
): void {
  const { observation, surroundings, transitSeconds, worstRatio } = window;
  const { cores, cpu, demand, time } = logs;
  put(Math.tanh((Math.log(observation.windowSeconds) - 2.7) / 2));
  putFlagged(Math.tanh(cores / 2));
  putFlagged(Math.tanh((demand - LOG_PERIOD) / 3));
  const use = Math.exp(Math.min(0.5, cpu - cores));
  put(orNothing(use));
  put(orNothing(-Math.log(1.02 - Math.min(1, use))));
  putFlagged(Math.tanh((logOf(observation.calls) - 5.5) / 3));
  putFlagged(Math.tanh((time - LOG_PERIOD) / 3));
  put(orNothing(squash(time - demand, 6) / 2));
  putFlagged(squash(logOf(observation.p50Seconds) - time, 3));
  putFlagged(squash(logOf(observation.p99Seconds) - time, 3));
  putFlagged(squash(logOf(observation.meanSeconds) - time, 3));
  putFlagged(observation.throttledRatio ?? Number.NaN);
  for (let i = 0; i < INTERFERENCE_COMPONENTS.length; i += 1)
    putFlagged(surroundings.interference[i] ?? Number.NaN);
  putFlagged(squash(surroundings.memoryRatio, 2));
  put(observation.isAfterDeploy === true ? 1 : 0);
  put(observation.youngShare ?? 0);
  putFlagged(squash(logOf(worstRatio), 2));
  putFlagged(squash(Math.log1p((transitSeconds ?? Number.NaN) / Math.exp(time)), 3));
  put(observation.keptRatio ?? 1);
}

function putChanges({ anchors, last, logs }: Seen, put: (value: number) => void): void {
  const { cores, demand, load, time } = logs;
  put(orNothing(squash(time - anchorOf(anchors, TIME), 3)));
  put(squash(load - anchorOf(anchors, LOAD), 3));
  put(orNothing(squash(cores - anchorOf(anchors, CORES), 3)));
  put(orNothing(squash(demand - anchorOf(anchors, DEMAND), 3)));
  put(last === undefined ? 0 : squash(load - last.load, 3));
  put(last === undefined ? 0 : orNothing(squash(cores - last.cores, 3)));
}

function putCurves({ anchors, curves, logs, profile }: Seen, put: (value: number) => void): void {
  const isUsed = isCalibrated(profile);
  const mixture = curves.logs[0] as number;
  put(isUsed ? 1 : 0);
  put(orNothing(surpriseOf(profile, logs, curves)));
  let inflation = 0;
  for (let i = 0; i < PROGRAMS.length; i += 1) {
    const weight = profile.weights[i] as number;
    put(isUsed ? Math.asinh((curves.logs[i + 1] as number) - mixture) : 0);
    put(weight);
    inflation += weight * (profile.inflations[i] as number);
  }
  put(Math.min(1, Math.sqrt(profile.residuals[1] as number)));
  put(Math.min(1, Math.sqrt(profile.cpuResidual)));
  put(squash(inflation, 1));
  put(isUsed ? squash(curves.byLoad[0] as number, 3) : 0);
  put(Math.log1p(profile.windows) / 4);
  const demand = isKnown(anchors, DEMAND) ? anchorOf(anchors, DEMAND) : Number.NaN;
  const use = anchorOf(anchors, LOAD) + demand - (hasCores(anchors) ? anchorOf(anchors, CORES) : Number.NaN);
  put(orNothing(squash(use, 3)));
}

/** Writes what the anchors themselves say. */
export function writeAnchors(anchors: Anchors, out: Float64Array, from: number): void {
  out[from] = Math.tanh((anchorOf(anchors, TIME) - LOG_PERIOD) / 3);
  out[from + 1] = hasCores(anchors) ? Math.tanh(anchorOf(anchors, CORES) / 2) : 0;
  out[from + 2] = Math.tanh((anchorOf(anchors, DEMAND) - LOG_PERIOD) / 3);
  out[from + ANCHOR_INPUTS - 1] = squash(anchorOf(anchors, SURPRISE), 2);
}
