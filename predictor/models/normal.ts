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
