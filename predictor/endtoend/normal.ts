const INVERSE_SQRT_2PI = 0.3989422804014327;

/** Density of the standard normal distribution. */
export function normalDensity(x: number): number {
  return INVERSE_SQRT_2PI * Math.exp(-0.5 * x * x);
}

/**
 * Distribution function of the standard normal distribution, absolute error below 1e-14.
 * Rational approximation of J. F. Hart et al., Computer Approximations (1968), in the form of G. West, Better
 * approximations to cumulative normal functions (2005).
 */
export function normalCdf(x: number): number {
  const z = Math.abs(x);
  if (z > 37) return x > 0 ? 1 : 0;
  const exponential = Math.exp(-0.5 * z * z);
  let upperTail: number;
  if (z < 7.071_067_811_865_47) {
    let numerator = 3.526_249_659_989_11e-2 * z + 0.700_383_064_443_688;
    numerator = numerator * z + 6.373_962_203_531_65;
    numerator = numerator * z + 33.912_866_078_383;
    numerator = numerator * z + 112.079_291_497_871;
    numerator = numerator * z + 221.213_596_169_931;
    numerator = numerator * z + 220.206_867_912_376;
    let denominator = 8.838_834_764_831_84e-2 * z + 1.755_667_163_182_64;
    denominator = denominator * z + 16.064_177_579_207;
    denominator = denominator * z + 86.780_732_202_946_1;
    denominator = denominator * z + 296.564_248_779_674;
    denominator = denominator * z + 637.333_633_378_831;
    denominator = denominator * z + 793.826_512_519_948;
    denominator = denominator * z + 440.413_735_824_752;
    upperTail = (exponential * numerator) / denominator;
  } else {
    const fraction = z + 1 / (z + 2 / (z + 3 / (z + 4 / (z + 0.65))));
    upperTail = exponential / fraction / 2.506_628_274_631;
  }
  return x > 0 ? 1 - upperTail : upperTail;
}

/** Mean and variance of a random time, and what they owe to the two times they came from. */
export interface MaxMoments {
  mean: number;
  variance: number;
  meanByMeanA: number;
  meanByMeanB: number;
  meanByVarianceA: number;
  meanByVarianceB: number;
  varianceByMeanA: number;
  varianceByMeanB: number;
  varianceByVarianceA: number;
  varianceByVarianceB: number;
}

export function emptyMaxMoments(): MaxMoments {
  return {
    mean: 0,
    variance: 0,
    meanByMeanA: 0,
    meanByMeanB: 0,
    meanByVarianceA: 0,
    meanByVarianceB: 0,
    varianceByMeanA: 0,
    varianceByMeanB: 0,
    varianceByVarianceA: 0,
    varianceByVarianceB: 0,
  };
}

/** Below this spread two times count as certain, and the later one simply wins. */
const CERTAIN_SPREAD = 1e-12;

/**
 * Moments of max(A, B) for independent normal A and B, with all partial derivatives, written into `out`.
 * C. E. Clark, The greatest of a finite set of random variables, Operations Research 9 (1961), equations 2-4.
 */
export function maxOfNormals(
  meanA: number,
  varianceA: number,
  meanB: number,
  varianceB: number,
  out: MaxMoments,
): void {
  const spread = Math.sqrt(varianceA + varianceB);
  if (!(spread > CERTAIN_SPREAD)) {
    const aWins = meanA >= meanB;
    out.mean = aWins ? meanA : meanB;
    out.variance = aWins ? varianceA : varianceB;
    out.meanByMeanA = aWins ? 1 : 0;
    out.meanByMeanB = aWins ? 0 : 1;
    out.meanByVarianceA = 0;
    out.meanByVarianceB = 0;
    out.varianceByMeanA = 0;
    out.varianceByMeanB = 0;
    out.varianceByVarianceA = aWins ? 1 : 0;
    out.varianceByVarianceB = aWins ? 0 : 1;
    return;
  }
  const alpha = (meanA - meanB) / spread;
  const density = normalDensity(alpha);
  const shareA = normalCdf(alpha);
  const shareB = normalCdf(-alpha);
  const mean = meanA * shareA + meanB * shareB + spread * density;
  const secondMoment =
    (meanA * meanA + varianceA) * shareA +
    (meanB * meanB + varianceB) * shareB +
    (meanA + meanB) * spread * density;
  const meanByVariance = density / (2 * spread);
  const secondByVariance = meanByVariance * (meanA + meanB - ((varianceA - varianceB) * alpha) / spread);
  out.mean = mean;
  out.variance = Math.max(0, secondMoment - mean * mean);
  out.meanByMeanA = shareA;
  out.meanByMeanB = shareB;
  out.meanByVarianceA = meanByVariance;
  out.meanByVarianceB = meanByVariance;
  out.varianceByMeanA = 2 * (meanA * shareA + (density * varianceA) / spread - mean * shareA);
  out.varianceByMeanB = 2 * (meanB * shareB + (density * varianceB) / spread - mean * shareB);
  out.varianceByVarianceA = shareA + secondByVariance - 2 * mean * meanByVariance;
  out.varianceByVarianceB = shareB + secondByVariance - 2 * mean * meanByVariance;
}
