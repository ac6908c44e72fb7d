/** Latencies from 1 µs to 1,000 s in buckets of 1 % relative width; shorter and longer ones count in the outer buckets. */
const LEAST_MS = 1e-3;
const GREATEST_MS = 1e6;
const GAMMA = 1.01;
const PER_LOG = 1 / Math.log(GAMMA);
const OFFSET = Math.log(LEAST_MS) * PER_LOG;
const BUCKETS = Math.ceil(Math.log(GREATEST_MS) * PER_LOG - OFFSET) + 1;

/** Histogram of latencies with fixed buckets, so that two of them can be subtracted. Quantiles are within 0.5 %. */
export class LatencyHistogram {
  count = 0;
  private sumMs = 0;
  private readonly buckets: Float64Array;

  constructor(buckets = new Float64Array(BUCKETS)) {
    this.buckets = buckets;
  }

  get meanSeconds(): number {
    return this.count === 0 ? 0 : this.sumMs / this.count / 1e3;
  }

  get sumSeconds(): number {
    return this.sumMs / 1e3;
  }

  add(latencyMs: number): void {
    this.count += 1;
    this.sumMs += latencyMs;
    const bucket = Math.floor(Math.log(latencyMs) * PER_LOG - OFFSET);
    const at = bucket > 0 ? Math.min(bucket, BUCKETS - 1) : 0;
    this.buckets[at] = (this.buckets[at] ?? 0) + 1;
  }

  quantileSeconds(quantile: number): number {
    if (this.count === 0) return 0;
    return this.rankSeconds(Math.ceil(quantile * this.count - 1e-9));
  }

  /** The latency that comes at this place in rising order, 1 for the least. */
  rankSeconds(rank: number): number {
    let seen = 0;
    for (let at = 0; at < BUCKETS; at += 1) {
      seen += this.buckets[at] ?? 0;
      if (seen >= rank && seen > 0) return Math.exp((at + 0.5 + OFFSET) / PER_LOG) / 1e3;
    }
    return GREATEST_MS / 1e3;
  }

  copy(): LatencyHistogram {
    const copy = new LatencyHistogram(this.buckets.slice());
    copy.count = this.count;
    copy.sumMs = this.sumMs;
    return copy;
  }

  since(earlier: LatencyHistogram): LatencyHistogram {
    return this.combined(earlier, -1);
  }

  with(other: LatencyHistogram): LatencyHistogram {
    return this.combined(other, 1);
  }

  clear(): void {
    this.count = 0;
    this.sumMs = 0;
    this.buckets.fill(0);
  }

  private combined(other: LatencyHistogram, sign: 1 | -1): LatencyHistogram {
    const result = this.copy();
    result.count += sign * other.count;
    result.sumMs += sign * other.sumMs;
    for (const [at, value] of other.buckets.entries()) {
      result.buckets[at] = (result.buckets[at] ?? 0) + sign * value;
    }
    return result;
  }
}
