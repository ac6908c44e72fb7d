/** Mean and covariance (row by row) of a normal estimate; changed in place. */
export interface Estimate {
  readonly mean: Float64Array;
  readonly covariance: Float64Array;
}

/** Beyond this many standard deviations an innovation counts less, as in Huber's M-estimator (95 % as good if all is normal). */
const HUBER = 1.345;

/** gᵀ P g: variance that the estimate's uncertainty gives a quantity with gradient g. */
export function varianceAlong(covariance: ArrayLike<number>, gradient: ArrayLike<number>): number {
  const size = gradient.length;
  let sum = 0;
  for (let i = 0; i < size; i += 1) {
    let row = 0;
    for (let j = 0; j < size; j += 1) row += (covariance[i * size + j] ?? 0) * (gradient[j] ?? 0);
    sum += row * (gradient[i] ?? 0);
  }
  return Math.max(0, sum);
}

/**
 * Takes in one measured number (Kalman, 1960). An innovation beyond Huber's bound is taken for one with more noise, so that
 * it moves the estimate no more than one at the bound.
 * @param innovation measured less expected
 * @param gradient of the expected by the state
 * @param noise variance of the measurement, > 0
 */
export function takeIn(
  estimate: Estimate,
  innovation: number,
  gradient: ArrayLike<number>,
  noise: number,
): void {
  const { covariance, mean } = estimate;
  const size = mean.length;
  const along = new Float64Array(size);
  let explained = 0;
  for (let i = 0; i < size; i += 1) {
    let row = 0;
    for (let j = 0; j < size; j += 1) row += (covariance[i * size + j] ?? 0) * (gradient[j] ?? 0);
    along[i] = row;
    explained += row * (gradient[i] ?? 0);
  }
  const spread = Math.sqrt(explained + noise);
  const weight = Math.min(1, (HUBER * spread) / Math.max(Math.abs(innovation), 1e-12));
  const gain = weight / (spread * spread);
  for (let i = 0; i < size; i += 1) {
    const alongI = along[i] ?? 0;
    mean[i] = (mean[i] ?? 0) + gain * alongI * innovation;
    for (let j = 0; j < size; j += 1) {
      covariance[i * size + j] = (covariance[i * size + j] ?? 0) - gain * alongI * (along[j] ?? 0);
    }
  }
}
