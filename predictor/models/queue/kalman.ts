/** Mean and covariance (row by row) of a normal estimate; changed in place. */
export interface Estimate {
  readonly mean: Float64Array;
  readonly covariance: Float64Array;
}

/** What is expected of a measurement, see {@link takeIn}. */
export interface Expectation {
  value: number;
  /** Variance that the uncertainty of the estimate gives it. */
  variance: number;
  /** Covariance of the estimate with it. */
  readonly with: Float64Array;
}

export const emptyExpectation = (size: number): Expectation => ({
  value: 0,
  variance: 0,
  with: new Float64Array(size),
});

/** Keeps what is certain from dividing by zero. */
const LEAST_VARIANCE = 1e-12;

/** Beyond this many standard deviations an innovation counts less, as in Huber's M-estimator (95 % as good if all is normal). */
const HUBER = 1.345;

/** What is expected of a quantity that is `value` at the mean of the estimate and has this gradient there. */
export function expect(
  covariance: ArrayLike<number>,
  value: number,
  gradient: ArrayLike<number>,
  out: Expectation,
): void {
  const size = gradient.length;
  let variance = 0;
  for (let i = 0; i < size; i += 1) {
    let row = 0;
    for (let j = 0; j < size; j += 1) row += (covariance[i * size + j] as number) * (gradient[j] as number);
    out.with[i] = row;
    variance += row * (gradient[i] as number);
  }
  out.value = value;
  out.variance = Math.max(LEAST_VARIANCE, variance);
}

/** No parameter is kept. */
const NONE: ReadonlySet<number> = new Set();

/**
 * Takes in one measured number (Kalman, 1960). An innovation beyond Huber's bound is taken for one with more noise, so that
 * it moves the estimate no more than one at the bound.
 * @param noise variance of the measurement, > 0
 * @param kept parameters that it says nothing of: their uncertainty counts in what is expected, and neither their value nor
 * their own covariance changes (Schmidt, 1966)
 * @returns ln of how likely the measurement was, by Huber's distribution and up to a constant
 */
export function takeIn(
  estimate: Estimate,
  measured: number,
  expected: Expectation,
  noise: number,
  kept = NONE,
): number {
  const innovation = measured - expected.value;
  const total = expected.variance + noise;
  const distance = Math.abs(innovation) / Math.sqrt(total);
  const weight = distance > HUBER ? HUBER / distance : 1;
  correct(estimate, expected.with, { step: (weight / total) * innovation, lost: weight / total, kept });
  const loss = distance > HUBER ? HUBER * (distance - HUBER / 2) : (distance * distance) / 2;
  return -loss - Math.log(total) / 2;
}

interface Correction {
  /** Of the mean, along the covariance with what was measured. */
  readonly step: number;
  /** Of the covariance, along the same twice. */
  readonly lost: number;
  readonly kept: ReadonlySet<number>;
}

function correct(
  { covariance, mean }: Estimate,
  along: Float64Array,
  { kept, lost, step }: Correction,
): void {
  const size = mean.length;
  for (let i = 0; i < size; i += 1) {
    const isKept = kept.has(i);
    if (!isKept) mean[i] = (mean[i] as number) + step * (along[i] as number);
    for (let j = 0; j < size; j += 1) {
      if (isKept && kept.has(j)) continue;
      const place = i * size + j;
      covariance[place] = (covariance[place] as number) - lost * (along[i] as number) * (along[j] as number);
    }
  }
}
