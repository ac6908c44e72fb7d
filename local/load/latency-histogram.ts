/** Width of a bucket relative to its lower edge: percentiles are right within 1 %. */
const GROWTH = 1.01;
const SMALLEST_SECONDS = 1e-4;
const BUCKETS = 1_200;

/** Latencies of any number of requests in constant memory, from 0.1 ms to 15 s. */
export interface LatencyHistogram {
  record(seconds: number): void;
  /** Latency that the given share of the requests did not exceed, s; undefined without any. */
  quantileSeconds(quantile: number): number | undefined;
  readonly count: number;
}

export function createLatencyHistogram(): LatencyHistogram {
  const counts = new Float64Array(BUCKETS);
  let total = 0;
  return {
    get count() {
      return total;
    },
    record(seconds) {
      const bucket = Math.ceil(
        Math.log(Math.max(seconds, SMALLEST_SECONDS) / SMALLEST_SECONDS) / Math.log(GROWTH),
      );
      const index = Math.min(BUCKETS - 1, bucket);
      counts[index] = (counts[index] ?? 0) + 1;
      total += 1;
    },
    quantileSeconds(quantile) {
      if (total === 0) return undefined;
      const rank = Math.max(1, Math.ceil(quantile * total));
      let seen = 0;
      let index = 0;
      for (; index < BUCKETS - 1; index += 1) {
        seen += counts[index] ?? 0;
        if (seen >= rank) break;
      }
      return SMALLEST_SECONDS * GROWTH ** index;
    },
  };
}
