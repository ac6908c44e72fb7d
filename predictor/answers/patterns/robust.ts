import { median } from "@tradewind/core/values/statistics.ts";

/** Median absolute deviation of a normal distribution times this is its standard deviation. */
const MAD_TO_SIGMA = 1.4826;

/** Robust standard deviation about the median; NaN of nothing. */
export function spread(values: readonly number[]): number {
  const middle = median(values);
  return MAD_TO_SIGMA * median(values.map((value) => Math.abs(value - middle)));
}

/** Evidence in standard errors as a confidence: a half at the least that counts, towards 1 with more. */
export const confidenceOf = (evidence: number, least: number): number => evidence / (evidence + least);
