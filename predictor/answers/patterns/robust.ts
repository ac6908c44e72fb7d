/** Median absolute deviation of a normal distribution times this is its standard deviation. */
const MAD_TO_SIGMA = 1.4826;

/** NaN of nothing. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[half - 1] ?? Number.NaN)) / 2;
}

/** Robust standard deviation about the median; NaN of nothing. */
export function spread(values: readonly number[]): number {
  const middle = median(values);
  return MAD_TO_SIGMA * median(values.map((value) => Math.abs(value - middle)));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Evidence in standard errors as a confidence: a half at the least that counts, towards 1 with more. */
export const confidenceOf = (evidence: number, least: number): number => evidence / (evidence + least);
