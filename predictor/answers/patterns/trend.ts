import { median, pairSlopes, scoreDeviation } from "@tradewind/core/values/statistics.ts";
import { confidenceOf } from "./robust.ts";

const LEAST_STEPS = 12;
/** Standard errors of Kendall's S that 99 % of intervals reach: at 90 % one calm series in ten has a trend. */
const Z99 = 2.576;
/** A smaller change is of no interest: share of the level, in an hour and since the first step. */
const LEAST_CHANGE = 0.1;
/** Each half has to go the same way, and as steeply as this share of the whole: else it was a jump. */
const EACH_HALF = 1 / 3;

/** A level that rises or falls steadily. */
export interface Trend {
  /** Change from the first step to the last over the level. */
  readonly change: number;
  readonly confidence: number;
}

/**
 * Slope by Theil and Sen, where its interval for 99 % (Sen 1968) leaves out 0, and it is more than a tenth of the level in an hour.
 * @param logs ln of the values of equal steps, less what a season says; oldest first, finite
 */
export function trendOf(logs: readonly number[], stepSeconds: number): Trend | undefined {
  const count = logs.length;
  if (count < LEAST_STEPS) return undefined;
  const slopes = slopesOf(logs);
  const deviation = scoreDeviation(count);
  const aside = Math.round((slopes.length - Z99 * deviation) / 2);
  const [low = 0, high = 0] = [slopes[aside], slopes[slopes.length - 1 - aside]];
  if (low * high <= 0) return undefined;
  const slope = median(slopes);
  const change = Math.expm1(slope * (count - 1));
  const perHour = (slope * 3_600) / stepSeconds;
  if (Math.min(Math.abs(change), Math.abs(perHour)) < LEAST_CHANGE) return undefined;
  const half = count >> 1;
  const halves = [logs.slice(0, half), logs.slice(-half)].map((each) => median(slopesOf(each)) / slope);
  if (halves.some((share) => !(share >= EACH_HALF))) return undefined;
  const above = slopes.filter((slope) => slope > 0).length;
  const kendall = Math.abs(2 * above - slopes.length) / deviation;
  return { change, confidence: confidenceOf(kendall, Z99) };
}

const slopesOf = (values: readonly number[]): Float64Array => pairSlopes([...values.keys()], values);
