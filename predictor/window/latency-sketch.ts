import type { LatencySummary } from "@tradewind/core/contract/window.ts";

/** Largest relative error of a quantile. */
export const SKETCH_RELATIVE_ERROR = 0.01;

const GAMMA = (1 + SKETCH_RELATIVE_ERROR) / (1 - SKETCH_RELATIVE_ERROR);
const BUCKETS_PER_LOG = 1 / Math.log(GAMMA);
const SECONDS_PER_NS = 1e-9;
const MARGIN_BUCKETS = 32;

/**
 * Histogram of durations with logarithmic buckets of relative width: DDSketch (Masson, Rim and Lee, VLDB 2019, Eq. 1-3)
 * with γ = (1+α)/(1−α), α = 1 %. A quantile is within 1 % of the true one for any distribution; count, mean, least and
 * greatest are exact. Buckets are only kept around the least and the greatest value: two decades take 230 of them.
 */
export class LatencySketch {
  count = 0;
  private sumNs = 0;
  private minNs = Infinity;
  private maxNs = 0;
  /** Durations of less than a nanosecond, which have no logarithm. */
  private zeros = 0;
  private first = 0;
  private buckets = new Uint32Array(0);

  /** @param durationNs finite, not negative */
  add(durationNs: number): void {
    this.put(durationNs, bucketOf(durationNs));
  }

  /** As {@link add}, of a duration whose bucket is known: see {@link bucketOf}. */
  put(durationNs: number, bucket: number): void {
    this.count += 1;
    this.sumNs += durationNs;
    if (durationNs < this.minNs) this.minNs = durationNs;
    if (durationNs > this.maxNs) this.maxNs = durationNs;
    if (durationNs < 1) {
      this.zeros += 1;
      return;
    }
    let at = bucket - this.first;
    if (at < 0 || at >= this.buckets.length) {
      this.cover(bucket);
      at = bucket - this.first;
    }
    this.buckets[at] = (this.buckets[at] ?? 0) + 1;
  }

  /** Adds all that another one holds. */
  merge(other: LatencySketch): void {
    this.count += other.count;
    this.sumNs += other.sumNs;
    this.minNs = Math.min(this.minNs, other.minNs);
    this.maxNs = Math.max(this.maxNs, other.maxNs);
    this.zeros += other.zeros;
    if (other.buckets.length === 0) return;
    this.cover(other.first);
    this.cover(other.first + other.buckets.length - 1);
    const shift = other.first - this.first;
    for (const [index, count] of other.buckets.entries())
      this.buckets[shift + index] = (this.buckets[shift + index] ?? 0) + count;
  }

  /** The value that the share `quantile` [0, 1] of durations does not exceed (nearest rank), ns. 0 when empty. */
  quantileNs(quantile: number): number {
    const rank = Math.max(1, Math.ceil(quantile * this.count));
    let seen = this.zeros;
    if (this.count === 0 || seen >= rank) return 0;
    for (let at = 0; at < this.buckets.length; at += 1) {
      seen += this.buckets[at] ?? 0;
      if (seen >= rank) return this.valueOf(this.first + at);
    }
    return this.maxNs;
  }

  /** Share of durations that are longer, [0, 1]; a duration within 1 % of `durationNs` may count on either side. 0 when empty. */
  shareOver(durationNs: number): number {
    if (this.count === 0 || durationNs >= this.maxNs) return 0;
    if (durationNs < this.minNs) return 1;
    let over = 0;
    for (let at = this.buckets.length - 1; at >= 0 && this.valueOf(this.first + at) > durationNs; at -= 1) {
      over += this.buckets[at] ?? 0;
    }
    return over / this.count;
  }

  /** No quantile is larger. */
  get greatestNs(): number {
    return this.maxNs;
  }

  get meanNs(): number {
    return this.count === 0 ? 0 : this.sumNs / this.count;
  }

  /** Undefined when nothing was measured. */
  summary(): LatencySummary | undefined {
    if (this.count === 0) return undefined;
    return {
      count: this.count,
      meanSeconds: this.meanNs * SECONDS_PER_NS,
      p50Seconds: this.quantileNs(0.5) * SECONDS_PER_NS,
      p95Seconds: this.quantileNs(0.95) * SECONDS_PER_NS,
      p99Seconds: this.quantileNs(0.99) * SECONDS_PER_NS,
    };
  }

  /** The middle of a bucket in relative terms, 2γ^i/(γ+1), kept within what was seen. */
  private valueOf(bucket: number): number {
    const middle = (2 * GAMMA ** bucket) / (GAMMA + 1);
    return Math.min(this.maxNs, Math.max(this.minNs, middle));
  }

  /** Makes a place for a bucket, with room for others on its side. */
  private cover(bucket: number): void {
    const { buckets, first } = this;
    const end = first + buckets.length;
    if (bucket >= first && bucket < end) return;
    const isEmpty = buckets.length === 0;
    const margin = Math.max(MARGIN_BUCKETS, buckets.length >> 1);
    const low = isEmpty || bucket < first ? bucket - margin : first;
    const wider = new Uint32Array((isEmpty || bucket >= end ? bucket + margin : end) - low);
    wider.set(buckets, isEmpty ? 0 : first - low);
    this.first = low;
    this.buckets = wider;
  }
}

/** The bucket of a duration of 1 ns or more; below that there is none, and the result means nothing. */
export const bucketOf = (durationNs: number): number => Math.ceil(Math.log(durationNs) * BUCKETS_PER_LOG);
