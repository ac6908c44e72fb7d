/** Robust statistics. All take any order and leave the input as it is; NaN for no values. */

export function ascending(values: Iterable<number>): Float64Array {
  return Float64Array.from(values).sort();
}

/** Quantile by linear interpolation between order statistics (Hyndman and Fan's type 7), `ratio` in [0, 1]. */
export function quantile(values: Iterable<number>, ratio: number): number {
  const sorted = ascending(values);
  const place = ratio * (sorted.length - 1);
  const low = sorted[Math.floor(place)] ?? Number.NaN;
  const high = sorted[Math.ceil(place)] ?? Number.NaN;
  return low + (high - low) * (place - Math.floor(place));
}

export function median(values: Iterable<number>): number {
  return quantile(values, 0.5);
}

/**
 * Standard error of the p95 of `n` exponentially distributed times over the p95 itself: √(p(1 − p)/n) over density times
 * quantile, √(19/n) / ln 20 (Mosteller, On some useful "inefficient" statistics, 1946).
 */
export function chanceOfTail(n: number): number {
  return Math.sqrt(19 / Math.max(1, n)) / Math.log(20);
}
