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

/** Smallest value at which half of the weight is reached. */
export function weightedMedian(values: readonly number[], weights: readonly number[]): number {
  const order = values.map((_, i) => i).sort((a, b) => (values[a] ?? 0) - (values[b] ?? 0));
  const half = weights.reduce((sum, weight) => sum + weight, 0) / 2;
  let reached = 0;
  for (const i of order) {
    reached += weights[i] ?? 0;
    if (reached >= half) return values[i] ?? Number.NaN;
  }
  return Number.NaN;
}

/** Median slope over pairs whose x differ by at least `leastGap` (Theil and Sen); NaN without such a pair. */
export function medianSlope(x: readonly number[], y: readonly number[], leastGap: number): number {
  const slopes: number[] = [];
  for (let i = 0; i < x.length; i += 1) {
    for (let j = 0; j < i; j += 1) {
      const gap = (x[i] ?? 0) - (x[j] ?? 0);
      if (Math.abs(gap) >= leastGap) slopes.push(((y[i] ?? 0) - (y[j] ?? 0)) / gap);
    }
  }
  return median(slopes);
}

/**
 * Standard error of the p95 of `n` exponentially distributed times over the p95 itself: √(p(1 − p)/n) over density times
 * quantile, √(19/n) / ln 20 (Mosteller, On some useful "inefficient" statistics, 1946).
 */
export function chanceOfTail(n: number): number {
  return Math.sqrt(19 / Math.max(1, n)) / Math.log(20);
}
