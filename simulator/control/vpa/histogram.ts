/** Bucket bounds grow by this factor. */
const GROWTH = 1.05;
/** A bucket with less weight than this counts as empty. */
const EPSILON = 1e-3;

export interface HistogramOptions {
  /** Upper bound of the first bucket, in the unit of the samples. */
  readonly firstBucket: number;
  /** Largest value that is told apart from larger ones. */
  readonly largest: number;
  /** Time after which a sample counts half, s. */
  readonly halfLifeSeconds: number;
}

/**
 * The Vertical Pod Autoscaler's histogram of use: buckets that grow by 5 %, and weights that halve with age. Instead of old
 * weights shrinking new ones grow, by `2^((at - reference) / half life)`.
 */
export class DecayingHistogram {
  private readonly options: HistogramOptions;
  private readonly weights: number[];
  private referenceMs: number | undefined;

  constructor(options: HistogramOptions) {
    this.options = options;
    this.weights = Array.from({ length: this.bucketOf(options.largest) + 1 }, () => 0);
  }

  /** @param weight may be negative, which takes an earlier sample out */
  add(value: number, weight: number, atMs: number): void {
    this.referenceMs ??= atMs;
    const bucket = Math.min(this.weights.length - 1, this.bucketOf(value));
    const decay = 2 ** ((atMs - this.referenceMs) / (this.options.halfLifeSeconds * 1e3));
    this.weights[bucket] = Math.max(0, (this.weights[bucket] ?? 0) + weight * decay);
  }

  get isEmpty(): boolean {
    return this.weights.every((weight) => weight < EPSILON);
  }

  /** Upper bound of the bucket that the share `percentile` [0, 1] of the weight does not exceed; 0 when empty. */
  percentile(percentile: number): number {
    const total = this.weights.reduce((sum, weight) => sum + weight, 0);
    if (this.isEmpty) return 0;
    let sum = 0;
    for (const [bucket, weight] of this.weights.entries()) {
      sum += weight;
      if (sum >= percentile * total) return this.startOf(bucket + 1);
    }
    return this.startOf(this.weights.length);
  }

  /** Bucket n begins at `first · (1.05^n - 1) / 0.05`, so that bucket 0 begins at 0 and ends at `first`. */
  private startOf(bucket: number): number {
    return (this.options.firstBucket * (GROWTH ** bucket - 1)) / (GROWTH - 1);
  }

  private bucketOf(value: number): number {
    const { firstBucket } = this.options;
    if (value < firstBucket) return 0;
    return Math.floor(Math.log1p((value * (GROWTH - 1)) / firstBucket) / Math.log(GROWTH));
  }
}
