/** A present of more windows than this hides when it began. */
const MOST_PRESENT = 20;

/**
 * Where the last values began to be higher than those before: the change point that a cumulative sum of differences from the
 * mean is farthest at (CUSUM). The last value alone where nothing rose. NaN counts as the mean.
 * @returns a place in `values`; 0 of none
 */
export function onsetOf(values: readonly number[]): number {
  const known = values.filter((value) => Number.isFinite(value));
  const last = Math.max(0, values.length - 1);
  if (known.length < 2) return last;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  let sum = 0;
  let lowest = 0;
  let onset = last;
  // The sum falls while values are below the mean: it is lowest where the higher ones begin.
  for (const [at, value] of values.entries()) {
    sum += Number.isFinite(value) ? value - mean : 0;
    if (sum < lowest && at < last) {
      lowest = sum;
      onset = at + 1;
    }
  }
  return Math.max(onset, values.length - MOST_PRESENT);
}
