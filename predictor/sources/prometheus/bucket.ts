import type { LatencySummary } from "@tradewind/core/contract/window.ts";

/**
 * A latency distribution as counts in buckets, whatever histogram it came from. Bucket `i` holds `counts[i]` calls of
 * (lowers[i], uppers[i]] seconds; bounds rise, the last upper bound may be Infinity. Counts may be rates.
 */
export interface Buckets {
  readonly lowers: readonly number[];
  readonly uppers: readonly number[];
  readonly counts: readonly number[];
  /** How to place a quantile within a bucket: evenly, or evenly on a log scale (native histograms). */
  readonly within: "linear" | "exponential";
}

export function totalCount(buckets: Buckets): number {
  return buckets.counts.reduce((sum, count) => sum + count, 0);
}

/**
 * The q-quantile, 0 < q < 1, as `histogram_quantile` of Prometheus defines it: linear (native: exponential) within the
 * bucket that holds rank q·total; a quantile in the open last bucket is that bucket's lower bound, which is then a
 * lower bound of the true value.
 * @returns undefined without calls
 */
export function bucketQuantile(buckets: Buckets, q: number): number | undefined {
  const total = totalCount(buckets);
  if (!(total > 0)) return undefined;
  const rank = q * total;
  let below = 0;
  let at = buckets.counts.length - 1;
  for (let index = 0; index < buckets.counts.length; index += 1) {
    const count = buckets.counts[index] ?? 0;
    if (count > 0 && below + count >= rank) {
      at = index;
      break;
    }
    below += count;
  }
  const lower = Math.max(0, buckets.lowers[at] ?? 0);
  // Nothing takes less than no time, whatever bounds a histogram has.
  const upper = Math.max(lower, buckets.uppers[at] ?? Number.POSITIVE_INFINITY);
  if (upper === Number.POSITIVE_INFINITY) return lower;
  const share = Math.min(1, Math.max(0, (rank - below) / (buckets.counts[at] ?? 1)));
  if (buckets.within === "exponential" && lower > 0) return lower * (upper / lower) ** share;
  return lower + (upper - lower) * share;
}

/**
 * Sum and buckets of one histogram must tell of the same calls: the mean lies between the buckets' lower and upper
 * bounds. Queries at slightly different times may differ a little, hence the tolerance.
 */
export function meanFitsBuckets(buckets: Buckets, meanSeconds: number): boolean {
  const total = totalCount(buckets);
  if (!(total > 0)) return false;
  let least = 0;
  let most = 0;
  buckets.counts.forEach((count, index) => {
    if (count === 0) return;
    least += count * Math.max(0, buckets.lowers[index] ?? 0);
    most += count * (buckets.uppers[index] ?? Number.POSITIVE_INFINITY);
  });
  const tolerance = 1.05;
  return meanSeconds * tolerance >= least / total && meanSeconds <= (most / total) * tolerance;
}

/**
 * Latency of the calls in `buckets`.
 * @param secondsPerSecond sum of the latencies, in the same (rate or count) unit as the counts
 * @param windowSeconds turns a rate into the number of calls measured
 * @returns undefined without calls, with more than can be counted, or when sum and buckets contradict each other
 */
export function summarise(
  buckets: Buckets,
  secondsPerSecond: number,
  callsPerSecond: number,
  windowSeconds: number,
): LatencySummary | undefined {
  const meanSeconds = secondsPerSecond / callsPerSecond;
  if (!Number.isFinite(meanSeconds) || meanSeconds < 0 || !meanFitsBuckets(buckets, meanSeconds))
    return undefined;
  const p50Seconds = bucketQuantile(buckets, 0.5);
  const p95Seconds = bucketQuantile(buckets, 0.95);
  const p99Seconds = bucketQuantile(buckets, 0.99);
  if (p50Seconds === undefined || p95Seconds === undefined || p99Seconds === undefined) return undefined;
  const count = Math.max(1, Math.round(callsPerSecond * windowSeconds));
  if (!Number.isSafeInteger(count)) return undefined;
  return { count, meanSeconds, p50Seconds, p95Seconds, p99Seconds };
}
