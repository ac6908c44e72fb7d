/** Standard normal quantile at 95 %. */
const TAIL_QUANTILE = 1.644_853_626_951_472_2;

/** Smallest mean over tail of a log-normal time, e^(−z²/2): one with a longer tail has a smaller mean than that, and more tail. */
const LEAST_MEAN_OVER_TAIL = Math.exp(-(TAIL_QUANTILE ** 2) / 2);

/** Floor of a variance, s²: keeps the derivative of its root finite. */
const MIN_VARIANCE = 1e-18;

/** Mean and standard deviation of a time over its tail. */
export interface MomentsOverTail {
  readonly mean: number;
  readonly deviation: number;
}

/**
 * Moments of a log-normal time of which mean over tail (95 %) are known.
 * @param meanOverTail taken to lie between 0.259, below which no log-normal time is, and 1, where it is certain
 */
export function momentsOverTail(meanOverTail: number): MomentsOverTail {
  const mean = Math.min(1, Math.max(LEAST_MEAN_OVER_TAIL, meanOverTail));
  const root = Math.sqrt(Math.max(0, TAIL_QUANTILE ** 2 + 2 * Math.log(mean)));
  const logDeviation = TAIL_QUANTILE - root;
  return { mean, deviation: mean * Math.sqrt(Math.expm1(logDeviation ** 2)) };
}

/** A tail, and how fast it grows with the moments that it was worked out from. */
export interface Tail {
  seconds: number;
  byMean: number;
  byVariance: number;
}

/**
 * Tail (95 %) of the log-normal time with this mean and variance, written into `out`. It stands for a sum of log-normal times
 * (L. F. Fenton, The sum of log-normal probability distributions in scatter transmission systems, 1960). Rises with both
 * moments: a variance so large that the tail would fall with it counts as the largest under which it does not.
 */
export function tailOfMoments(mean: number, variance: number, out: Tail): void {
  if (!(mean > 0)) {
    out.seconds = 0;
    out.byMean = 1;
    out.byVariance = 0;
    return;
  }
  const square = mean * mean;
  const spread = Math.max(variance, MIN_VARIANCE);
  const logVariance = Math.log1p(spread / square);
  const isWide = logVariance > TAIL_QUANTILE ** 2;
  const logDeviation = isWide ? TAIL_QUANTILE : Math.sqrt(logVariance);
  const seconds = mean * Math.exp(logDeviation * (TAIL_QUANTILE - logDeviation / 2));
  const byLogVariance = isWide ? 0 : (seconds * (TAIL_QUANTILE / logDeviation - 1)) / 2;
  out.seconds = seconds;
  out.byMean = seconds / mean - (2 * byLogVariance * spread) / (mean * (square + spread));
  out.byVariance = byLogVariance / (square + spread);
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

/** Mean of the log-normal time whose logarithm has this mean and variance. */
export function meanOfLog(logMean: number, logVariance: number): number {
  return Math.exp(logMean + logVariance / 2);
}

/** Variance of it. */
export function varianceOfLog(logMean: number, logVariance: number): number {
  return Math.expm1(logVariance) * Math.exp(2 * logMean + logVariance);
}
