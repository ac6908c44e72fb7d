/** Statistics of a few numbers. All take any order and leave the input as it is; NaN for no values. */

/** @param otherwise of no values */
export function mean(values: ArrayLike<number>, otherwise = Number.NaN): number {
  if (values.length === 0) return otherwise;
  let sum = 0;
  for (let index = 0; index < values.length; index += 1) sum += values[index] ?? Number.NaN;
  return sum / values.length;
}

function ascending(values: Iterable<number>): Float64Array {
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

/** Ascending slopes of the lines through each two points, whose median is the slope of Theil (1950) and Sen (1968). */
export function pairSlopes(times: ArrayLike<number>, values: ArrayLike<number>): Float64Array {
  const slopes: number[] = [];
  for (let from = 0; from < values.length; from += 1) {
    for (let to = from + 1; to < values.length; to += 1) {
      slopes.push(((values[to] ?? 0) - (values[from] ?? 0)) / ((times[to] ?? 0) - (times[from] ?? 0)));
    }
  }
  return ascending(slopes);
}

/** Standard deviation of Kendall's score of so many points without a trend: the ranks of slopes that bound an interval (Sen 1968). */
export const scoreDeviation = (count: number): number =>
  Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18);
