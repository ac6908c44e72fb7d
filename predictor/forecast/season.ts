/** Seasons that must have been seen whole. */
const LEAST_SEASONS = 2;
/** A season has at least so many steps: fewer cannot be told from noise. */
const LEAST_STEPS = 8;
/** Least correlation of the load with itself a season before, and by how many standard errors it is more than chance. */
const LEAST_CORRELATION = 0.3;
const STANDARD_ERRORS = 3.5;
/** The search begins where the correlation has fallen to half of that of neighbours. The shortest of the lags that correlate nearly as well as the best is the season; the others are multiples of it. */
const NEARLY = 0.9;

type Values = readonly (number | null)[];

interface Correlation {
  readonly value: number;
  /** Pairs of values that it was taken from. */
  readonly pairs: number;
}

/** Correlation of values with those a lag before, where both are known. */
function correlation(values: Values, lag: number): Correlation {
  let [count, sumA, sumB, squareA, squareB, product] = [0, 0, 0, 0, 0, 0];
  for (let at = lag; at < values.length; at += 1) {
    const a = values[at];
    const b = values[at - lag];
    if (a === null || a === undefined || b === null || b === undefined) continue;
    count += 1;
    sumA += a;
    sumB += b;
    squareA += a * a;
    squareB += b * b;
    product += a * b;
  }
  const spread = (count * squareA - sumA * sumA) * (count * squareB - sumB * sumB);
  return { value: spread > 0 ? (count * product - sumA * sumB) / Math.sqrt(spread) : 0, pairs: count };
}

/**
 * Steps after which the load repeats itself: a peak of its autocorrelation. Undefined where there is none.
 * @param values load of equal steps, oldest first
 */
export function seasonOf(values: Values): number | undefined {
  const most = Math.floor(values.length / LEAST_SEASONS);
  const by: Correlation[] = [];
  for (let lag = 1; lag <= most + 1; lag += 1) by.push(correlation(values, lag));
  const valueAt = (at: number): number => by[at]?.value ?? 0;
  const valley = by.findIndex(({ value }) => value < valueAt(0) / 2);
  if (valley < 0) return undefined;
  const isPeak = (at: number): boolean =>
    at + 1 >= LEAST_STEPS && valueAt(at) >= valueAt(at - 1) && valueAt(at) >= valueAt(at + 1);
  const peaks = [...by.keys()].slice(valley, most).filter((at) => isPeak(at));
  const best = peaks.reduce((highest, at) => Math.max(highest, valueAt(at)), 0);
  const first = peaks.find((at) => valueAt(at) >= NEARLY * best);
  if (first === undefined) return undefined;
  // Steps that are not known tell nothing: where few pairs are, chance alone correlates highly.
  const least = Math.max(LEAST_CORRELATION, STANDARD_ERRORS / Math.sqrt(by[first]?.pairs ?? 0));
  return valueAt(first) >= least ? first + 1 : undefined;
}
