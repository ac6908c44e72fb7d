/** Standard normal quantile of the percentile that tails are, 0.95. */
export const TAIL_QUANTILE = 1.644_853_626_951_472_2;

/** Floor of a variance, s²: keeps the derivative of its root finite. */
const MIN_VARIANCE = 1e-18;

/** Share of requests that the tail leaves out: spikes on fewer of them do not show in it. */
export const BEYOND_TAIL = 0.05;

/** Share of calls that are far longer than the tail, where the mean says that there are such: half of the most there can be. */
export const SPIKE_SHARE = BEYOND_TAIL / 2;

/** Mean over tail of an exponentially distributed time: 1 / ln 20. Stands in until a service has been measured. */
export const EXPONENTIAL_MEAN_OVER_TAIL = 1 / Math.log(20);

/** Moments of a time over its tail. */
export interface MomentsOverTail {
  /** Mean and standard deviation of what the tail shows. */
  readonly mean: number;
  readonly deviation: number;
  /** Mean and standard deviation of what rare spikes add, which the tail does not show; mostly 0. */
  readonly spikeMean: number;
  readonly spikeDeviation: number;
}

/**
 * Moments of a time of which mean over tail (95 %) is known. The mean is kept in any case.
 *
 * - From 0.3 to 1 the time is log-normal.
 * - A smaller mean with so long a tail is that of two kinds of calls, short ones and long ones, as with a cache: the deviation is
 *   that of a time which is 0 or the tail, the largest of any time that does not exceed its tail. At 0.3 both are alike.
 * - A mean above the tail shows spikes too rare for it: {@link SPIKE_SHARE} of the calls, which make up the rest of the mean.
 */
export function momentsOverTail(share: number): MomentsOverTail {
  const mean = Math.min(1, Math.max(0, share));
  const spikeMean = Math.max(0, share - 1);
  return {
    mean,
    deviation: Math.sqrt(Math.min(varianceOf(mean, 1), mean * (1 - mean))),
    spikeMean,
    spikeDeviation: spikeMean * Math.sqrt((1 - SPIKE_SHARE) / SPIKE_SHARE),
  };
}

/** A tail, and how fast it grows with the moments that it was worked out from. */
export interface Tail {
  seconds: number;
  byMean: number;
  byVariance: number;
}

export const emptyTail = (): Tail => ({ seconds: 0, byMean: 0, byVariance: 0 });

/** Variance of the log-normal time with this mean and quantile; 0 for a quantile below the mean. */
export function varianceOf(mean: number, seconds: number, quantile = TAIL_QUANTILE): number {
  if (!(seconds > mean)) return 0;
  const root = Math.sqrt(Math.max(0, quantile ** 2 - 2 * Math.log(seconds / mean)));
  return mean * mean * Math.expm1((quantile - root) ** 2);
}

/**
 * Tail (95 %) of the log-normal time with this mean and variance, written into `out`. It stands for a sum of log-normal times
 * (L. F. Fenton, The sum of log-normal probability distributions in scatter transmission systems, 1960). Rises with both
 * moments: a variance so large that the tail would fall with it counts as the largest under which it does not.
 */
export function tailOfMoments(mean: number, variance: number, out: Tail): void {
  quantileOfMoments(mean, variance, TAIL_QUANTILE, out);
}

/** The same for any quantile above 0, given as that of the standard normal distribution. */
export function quantileOfMoments(mean: number, variance: number, quantile: number, out: Tail): void {
  if (!(mean > 0)) {
    out.seconds = 0;
    out.byMean = 1;
    out.byVariance = 0;
    return;
  }
  const square = mean * mean;
  const spread = Math.max(variance, MIN_VARIANCE);
  const logVariance = Math.log1p(spread / square);
  const isWide = logVariance > quantile ** 2;
  const logDeviation = isWide ? quantile : Math.sqrt(logVariance);
  const seconds = mean * Math.exp(logDeviation * (quantile - logDeviation / 2));
  const byLogVariance = isWide ? 0 : (seconds * (quantile / logDeviation - 1)) / 2;
  out.seconds = seconds;
  out.byMean = seconds / mean - (2 * byLogVariance * spread) / (mean * (square + spread));
  out.byVariance = byLogVariance / (square + spread);
}

/** {@link quantileOfMoments} without its slopes. */
export function secondsOfMoments(mean: number, variance: number, quantile: number): number {
  if (!(mean > 0)) return 0;
  const logVariance = Math.log1p(Math.max(variance, MIN_VARIANCE) / (mean * mean));
  const logDeviation = logVariance > quantile ** 2 ? quantile : Math.sqrt(logVariance);
  return mean * Math.exp(logDeviation * (quantile - logDeviation / 2));
}

/** Mean and variance of the logarithm of a time, with the slopes of both by the time's own mean and variance. */
export interface LogMoments {
  mean: number;
  variance: number;
  meanByMean: number;
  meanByVariance: number;
  varianceByMean: number;
  varianceByVariance: number;
}

export function emptyLogMoments(): LogMoments {
  return { mean: 0, variance: 0, meanByMean: 0, meanByVariance: 0, varianceByMean: 0, varianceByVariance: 0 };
}

/**
 * The normal distribution of the logarithm of a log-normal time, written into `out`.
 * @param mean of the time, above 0
 */
export function logMomentsOf(mean: number, variance: number, out: LogMoments): void {
  const square = mean * mean + variance;
  out.variance = Math.log1p(variance / (mean * mean));
  out.mean = Math.log(mean) - out.variance / 2;
  out.varianceByMean = (-2 * variance) / (mean * square);
  out.varianceByVariance = 1 / square;
  out.meanByMean = 1 / mean - out.varianceByMean / 2;
  out.meanByVariance = -out.varianceByVariance / 2;
}
