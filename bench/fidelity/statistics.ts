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
