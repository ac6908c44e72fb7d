import type { LogMoments } from "./lognormal.ts";
import { normalCdf, normalDensity } from "../normal.ts";

/** Mean and variance of the largest of several times, and what they owe to the logarithms of two of them. */
export interface Largest {
  mean: number;
  variance: number;
  meanByLogMeanA: number;
  meanByLogMeanB: number;
  meanByLogVarianceA: number;
  meanByLogVarianceB: number;
  varianceByLogMeanA: number;
  varianceByLogMeanB: number;
  varianceByLogVarianceA: number;
  varianceByLogVarianceB: number;
}

export function emptyLargest(): Largest {
  return {
    mean: 0,
    variance: 0,
    meanByLogMeanA: 0,
    meanByLogMeanB: 0,
    meanByLogVarianceA: 0,
    meanByLogVarianceB: 0,
    varianceByLogMeanA: 0,
    varianceByLogMeanB: 0,
    varianceByLogVarianceA: 0,
    varianceByLogVarianceB: 0,
  };
}

/** Below this spread of logarithms two times count as certain, and the longer one simply wins. */
const CERTAIN_SPREAD = 1e-9;

/** Mean and variance alone, the same as those of {@link largestOfTwo}. */
export function momentsOfLargest(a: LogMoments, b: LogMoments, out: Largest): void {
  const spread = Math.sqrt(a.variance + b.variance);
  if (spread > CERTAIN_SPREAD) uncertain(a, b, spread, out);
  else certain(a, b, out);
}

/**
 * Exact mean and variance of max(A, B) for independent log-normal A and B, with all partial derivatives, written into `out`.
 * With the difference of the logarithms normal, of deviation θ, `E max = a·Φ(α + s_A/θ) + b·Φ(−α + s_B/θ)`, a and b the
 * means, s the variances of the logarithms, α the difference of their means over θ; the second moment is alike with 2s.
 */
export function largestOfTwo(a: LogMoments, b: LogMoments, out: Largest): void {
  const spread = Math.sqrt(a.variance + b.variance);
  if (!(spread > CERTAIN_SPREAD)) {
    certain(a, b, out);
    return;
  }
  const alpha = uncertain(a, b, spread, out);
  const { mean } = out;
  const { ofA, ofB, squareA, squareB } = parts;
  // Where both are equally long: what a change of either variance moves beyond the times themselves.
  const tie = (Math.exp(a.mean + a.variance / 2) * normalDensity(alpha + a.variance / spread)) / spread;
  const squareTie =
    (Math.exp(2 * a.mean + 2 * a.variance) * normalDensity(alpha + (2 * a.variance) / spread)) / spread;
  out.meanByLogMeanA = ofA;
  out.meanByLogMeanB = ofB;
  out.meanByLogVarianceA = (ofA + tie) / 2;
  out.meanByLogVarianceB = (ofB + tie) / 2;
  out.varianceByLogMeanA = 2 * squareA - 2 * mean * ofA;
  out.varianceByLogMeanB = 2 * squareB - 2 * mean * ofB;
  out.varianceByLogVarianceA = 2 * squareA + squareTie - mean * (ofA + tie);
  out.varianceByLogVarianceB = 2 * squareB + squareTie - mean * (ofB + tie);
}

/** What each of two times adds to the first and second moment of the larger: kept here, as both are needed millions of times. */
const parts = { ofA: 0, ofB: 0, squareA: 0, squareB: 0 };

/** Writes mean and variance, and the parts they are of; gives α. */
function uncertain(a: LogMoments, b: LogMoments, spread: number, out: Largest): number {
  const alpha = (a.mean - b.mean) / spread;
  parts.ofA = moment(a, alpha, spread, 1);
  parts.ofB = moment(b, -alpha, spread, 1);
  parts.squareA = moment(a, alpha, spread, 2);
  parts.squareB = moment(b, -alpha, spread, 2);
  const mean = parts.ofA + parts.ofB;
  out.mean = mean;
  out.variance = Math.max(0, parts.squareA + parts.squareB - mean * mean);
  return alpha;
}

/** What a time adds to the `power`-th moment of the larger of two, where it is the larger one. */
function moment({ mean, variance }: LogMoments, ahead: number, spread: number, power: number): number {
  return (
    Math.exp(power * mean + (power * power * variance) / 2) * normalCdf(ahead + (power * variance) / spread)
  );
}

function certain(a: LogMoments, b: LogMoments, out: Largest): void {
  const aWins = a.mean >= b.mean;
  out.mean = Math.exp(aWins ? a.mean : b.mean);
  out.variance = 0;
  out.meanByLogMeanA = aWins ? out.mean : 0;
  out.meanByLogMeanB = aWins ? 0 : out.mean;
  out.meanByLogVarianceA = out.meanByLogMeanA / 2;
  out.meanByLogVarianceB = out.meanByLogMeanB / 2;
  out.varianceByLogMeanA = 0;
  out.varianceByLogMeanB = 0;
  out.varianceByLogVarianceA = aWins ? out.mean * out.mean : 0;
  out.varianceByLogVarianceB = aWins ? 0 : out.mean * out.mean;
}

/** How far the largest of several alike times lies above one of them: `mean + above·deviation`, and its deviation over theirs. */
export interface LargestOfEqual {
  readonly above: number;
  readonly deviation: number;
}

const REACH = 8;
const STEP = 0.125;
/** Below it a log-normal time is a normal one, and the difference of its moments a matter of rounding. */
const LEAST_LOG_DEVIATION = 1e-3;

/**
 * The largest of `count` independent log-normal times of one distribution: `E max^r / E X^r = count · E Φ(Y + rσ)^(count − 1)`
 * with Y standard normal, by the trapezoidal rule, whose error is below 1e-9 for up to 100 times.
 * @param count at least 1, any real number: between whole numbers it is their smooth continuation
 */
export function largestOfEqual(count: number, logDeviation: number): LargestOfEqual {
  const sigma = Math.max(LEAST_LOG_DEVIATION, logDeviation);
  let first = 0;
  let second = 0;
  for (let y = -REACH; y <= REACH + STEP / 2; y += STEP) {
    const weight = count * normalDensity(y) * STEP;
    first += weight * Math.pow(normalCdf(y + sigma), count - 1);
    second += weight * Math.pow(normalCdf(y + 2 * sigma), count - 1);
  }
  const deviation = Math.sqrt(Math.expm1(sigma * sigma));
  const variance = second * Math.exp(sigma * sigma) - first * first;
  return { above: (first - 1) / deviation, deviation: Math.sqrt(Math.max(0, variance)) / deviation };
}
