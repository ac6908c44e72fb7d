import { median } from "@tradewind/core/values/statistics.ts";
import { confidenceOf } from "./robust.ts";

/** Two-sided CUSUM: what is taken off each step, and where the alarm is, in standard deviations. */
const DRIFT = 0.5;
const ALARM = 5;
/** Steps that the level before is known from, and that the level since has held for. */
const LEAST_BEFORE = 12;
const LEAST_SINCE = 3;
/** A smaller change of the level is of no interest, as ln. */
const LEAST_CHANGE = Math.log(1.2);
/** Share of the change that lies between the last steps before and the first since: less is a slope. */
const AT_ONCE = 0.7;
/** Steps on either side that show whether it came at once. */
const BESIDE = 3;

/** A level that changed at once and has stayed. */
export interface LevelShift {
  /** The first step of the new level. */
  readonly at: number;
  /** Level since over level before. */
  readonly ratio: number;
  readonly confidence: number;
}

/**
 * Finds the last change of level of a series by a two-sided CUSUM.
 * @param logs ln of the values, less what a season says; oldest first, finite
 * @param sigma standard deviation of one value that is noise
 */
export function levelShift(logs: readonly number[], sigma: number): LevelShift | undefined {
  const at = changePoint(logs, sigma);
  if (at === undefined || at < LEAST_BEFORE || logs.length - at < LEAST_SINCE) return undefined;
  const [before, since] = [logs.slice(0, at), logs.slice(at)];
  const [low, high] = [median(before), median(since)];
  const change = high - low;
  if (Math.abs(change) < LEAST_CHANGE) return undefined;
  const jump = median(since.slice(0, BESIDE)) - median(before.slice(-BESIDE));
  const now = median(since.slice(-BESIDE)) - low;
  if (Math.min(jump / change, now / change) < AT_ONCE) return undefined;
  const evidence = Math.abs(change) / (sigma * Math.sqrt(1 / before.length + 1 / since.length));
  if (evidence < ALARM) return undefined;
  return { at, ratio: Math.exp(change), confidence: confidenceOf(evidence, ALARM) };
}

/** Where the sum that raised the alarm began to grow; undefined without one. */
function changePoint(logs: readonly number[], sigma: number): number | undefined {
  const reference = median(logs.slice(0, LEAST_BEFORE));
  let [up, down, upFrom, downFrom] = [0, 0, 0, 0];
  for (const [step, log] of logs.entries()) {
    const z = (log - reference) / sigma;
    up = Math.max(0, up + z - DRIFT);
    down = Math.max(0, down - z - DRIFT);
    if (up === 0) upFrom = step + 1;
    if (down === 0) downFrom = step + 1;
    if (up > ALARM) return upFrom;
    if (down > ALARM) return downFrom;
  }
  return undefined;
}
