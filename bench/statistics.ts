import { mean, median, pairSlopes, scoreDeviation } from "@tradewind/core/values/statistics.ts";

/** The least value that this share of all does not exceed (nearest rank); NaN without values. @param sorted ascending */
export const percentile = (sorted: ArrayLike<number>, share: number): number =>
  sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;

/** Least-squares slope through points (x, y). */
export function slope(points: readonly (readonly [number, number])[]): number {
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const covariance = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}

/** Whether no other point is at least as good in both, and better in one; smaller is better. */
export function isOnFront(
  point: { readonly over: number; readonly cost: number },
  others: readonly { readonly over: number; readonly cost: number }[],
): boolean {
  return !others.some(
    ({ cost, over }) => over <= point.over && cost <= point.cost && (over < point.over || cost < point.cost),
  );
}

/** What latencies are compared by: a share of requests and the latency it does not exceed. */
export interface Latencies {
  readonly count: number;
  quantileSeconds(quantile: number): number;
}

/** The quantile of several groups of requests together, seconds, within 0.5 %; 0 without requests. */
export function mixedQuantile(groups: readonly Latencies[], quantile: number): number {
  const known = groups.filter(({ count }) => count > 0);
  const total = known.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return 0;
  const shareBelow = (seconds: number): number =>
    known.reduce((sum, group) => sum + (group.count / total) * shareOf(group, seconds), 0);
  const ends = known.map((group) => group.quantileSeconds(quantile));
  let low = Math.min(...ends);
  let high = Math.max(...ends);
  while (high / low > 1.005) {
    const middle = Math.sqrt(low * high);
    if (shareBelow(middle) < quantile) low = middle;
    else high = middle;
  }
  return Math.sqrt(low * high);
}

/** Share of a group's requests that took at most so long, by bisection on its quantiles. */
function shareOf(group: Latencies, seconds: number): number {
  let low = 0;
  let high = 1;
  for (let step = 0; step < 20; step += 1) {
    const middle = (low + high) / 2;
    if (group.quantileSeconds(middle) <= seconds) low = middle;
    else high = middle;
  }
  return low;
}

/**
 * Kendall's tau-b of two rankings of the same things: 1 the same order, -1 the opposite one, 0 for no relation or where all
 * of one ranking is tied.
 */
export function kendallTau(a: readonly number[], b: readonly number[]): number {
  let agreed = 0;
  let tiedInA = 0;
  let tiedInB = 0;
  let pairs = 0;
  for (let i = 0; i < a.length; i += 1) {
    for (let j = i + 1; j < a.length; j += 1) {
      const inA = Math.sign((a[i] ?? 0) - (a[j] ?? 0));
      const inB = Math.sign((b[i] ?? 0) - (b[j] ?? 0));
      agreed += inA * inB;
      if (inA === 0) tiedInA += 1;
      if (inB === 0) tiedInB += 1;
      pairs += 1;
    }
  }
  const scale = Math.sqrt((pairs - tiedInA) * (pairs - tiedInB));
  return scale === 0 ? 0 : agreed / scale;
}

/** |a − b| over b. */
export const relativeError = (a: number, b: number): number => Math.abs(a - b) / b;

/** A value at a time. */
export interface Sample {
  readonly atSeconds: number;
  readonly value: number;
}

/** How a value moves over a run. */
export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly most: number;
  /** Of the lowest value per slice, by Theil and Sen; NaN with fewer than three slices. */
  readonly slopePerHour: number;
  /** Half of the interval that holds the slope with 68 %. */
  readonly standardError: number;
}

/** Slices that the time is cut into; of each only the lowest value counts, so that what is given back does not. */
const SLICES = 24;
/** A share of the time in which caches fill. */
const WARM_UP_SHARE = 1 / 3;

/** The trend of a floor. @param samples by rising time; the first third counts for `first` and `most` only */
export function trendOf(samples: readonly Sample[]): Trend {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) {
    return {
      first: Number.NaN,
      last: Number.NaN,
      most: Number.NaN,
      slopePerHour: Number.NaN,
      standardError: Number.NaN,
    };
  }
  const { slope, standardError } = theilSen(floors(samples));
  return {
    first: first.value,
    last: last.value,
    most: samples.reduce((most, { value }) => Math.max(most, value), first.value),
    slopePerHour: 3_600 * slope,
    standardError: 3_600 * standardError,
  };
}

/** The lowest sample of each of 24 slices of the time after the warm-up. */
function floors(samples: readonly Sample[]): Sample[] {
  const fromSeconds = samples[0]?.atSeconds ?? 0;
  const toSeconds = samples.at(-1)?.atSeconds ?? 0;
  const startSeconds = fromSeconds + WARM_UP_SHARE * (toSeconds - fromSeconds);
  const sliceSeconds = (toSeconds - startSeconds) / SLICES;
  const lowest = new Map<number, Sample>();
  for (const sample of samples) {
    if (sample.atSeconds < startSeconds) continue;
    const slice = Math.min(SLICES - 1, Math.floor((sample.atSeconds - startSeconds) / sliceSeconds));
    const known = lowest.get(slice);
    if (known === undefined || sample.value < known.value) lowest.set(slice, sample);
  }
  return [...lowest.values()];
}

/** The slope by Theil and Sen, which a third of wild points does not move, and the half width of its interval of 68 % (Sen 1968, equation 2.6). */
export function theilSen(points: readonly Sample[]): { slope: number; standardError: number } {
  if (points.length < 3) return { slope: Number.NaN, standardError: Number.NaN };
  const slopes = pairSlopes(
    points.map(({ atSeconds }) => atSeconds),
    points.map(({ value }) => value),
  );
  const middle = (slopes.length - 1) / 2;
  const aside = scoreDeviation(points.length) / 2;
  const nearest = (place: number): number =>
    slopes[Math.max(0, Math.min(slopes.length - 1, Math.round(place)))] ?? Number.NaN;
  return { slope: median(slopes), standardError: (nearest(middle + aside) - nearest(middle - aside)) / 2 };
}

/** Spearman's rank correlation; equal values share their mean rank. NaN where one of them is constant. */
export function rankCorrelation(first: readonly number[], second: readonly number[]): number {
  const [a, b] = [ranksOf(first), ranksOf(second)];
  const middle = (first.length - 1) / 2;
  let [both, ofFirst, ofSecond] = [0, 0, 0];
  for (const [i, rank] of a.entries()) {
    const [x, y] = [rank - middle, (b[i] ?? middle) - middle];
    both += x * y;
    ofFirst += x * x;
    ofSecond += y * y;
  }
  return both / Math.sqrt(ofFirst * ofSecond);
}

function ranksOf(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return values.map((value) => (sorted.indexOf(value) + sorted.lastIndexOf(value)) / 2);
}
