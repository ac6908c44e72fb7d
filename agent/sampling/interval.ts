/** Two-sided tail of the standard normal, P(|Z| > x) (Abramowitz and Stegun 7.1.26, error below 1.5e-7). */
export function tailProbability(x: number): number {
  const t = 1 / (1 + (0.3275911 * Math.abs(x)) / Math.SQRT2);
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  return series * Math.exp((-x * x) / 2);
}

/** Midpoints of the gap, as parts of its length, over which the tail probability is averaged. */
const GAP_POINTS = 32;

/**
 * Share of a gap during which a held value is off by more than the tolerance, when the signal diffuses:
 * `spread` = sqrt(v T) / eps with v the variance a second adds and T the gap. A level is exact when it is read; the rate
 * of a counter is the mean of the gap before, which lags and adds T/3 of variance.
 */
export function missShare(spread: number, kind: "counter" | "gauge"): number {
  const lag = kind === "counter" ? 1 / 3 : 0;
  let sum = 0;
  for (let point = 0; point < GAP_POINTS; point += 1) {
    sum += tailProbability(1 / (spread * Math.sqrt(lag + (point + 0.5) / GAP_POINTS)));
  }
  return sum / GAP_POINTS;
}

/**
 * The gain g for which gaps of T = g eps^2 / v keep a diffusing signal off by more than eps for the share `missTarget`
 * of the time; about 0.32 for a counter at 0.05.
 */
export function diffusionGain(missTarget: number, kind: "counter" | "gauge"): number {
  let low = 0;
  let high = 16;
  for (let step = 0; step < 40; step += 1) {
    const middle = (low + high) / 2;
    if (missShare(middle, kind) > missTarget) high = middle;
    else low = middle;
  }
  return low * low;
}

/**
 * Estimated share of the last gap during which the held value was off by more than `tolerance`, in [0, 1): a straight
 * path from the held value that explains the difference seen ends `stretch` times as far away.
 */
export function estimatedMiss(difference: number, tolerance: number, stretch: number): number {
  const end = Math.abs(difference) * stretch;
  return end > tolerance ? 1 - tolerance / end : 0;
}

/**
 * How much farther than the difference of two readings the signal may have been at the end of the gap: a ramp 1.5 times
 * for a counter, whose readings are means, a diffusion 1.4 times with a spread; 1.75 makes the estimated share equal the
 * target on average for a diffusion read at the interval of {@link diffusionGain}. A gauge is read as it is.
 */
export function missStretch(kind: "counter" | "gauge"): number {
  return kind === "counter" ? 1.75 : 1;
}

/** How far one step of the error budget goes, and between which bounds. */
export interface BudgetRange {
  readonly gain: number;
  readonly low: number;
  readonly high: number;
}

/**
 * One step of the error budget (adaptive conformal inference, Gibbs and Candes 2021, on the logarithm of the interval's
 * scale): x' = clip(x + gain (missTarget - miss), low, high). While it is not clipped the steps telescope, so after K
 * steps |mean(miss) - missTarget| <= (high - low) / (gain K), whatever the signal does; with gains proportional to the
 * gaps the same holds for the mean over time.
 */
export function budgetStep(logScale: number, miss: number, missTarget: number, range: BudgetRange): number {
  return Math.min(range.high, Math.max(range.low, logScale + range.gain * (missTarget - miss)));
}

/** The interval moved by up to +-10 %, so that it does not lock onto periodic load; `uniform` in [0, 1). */
export function jittered(seconds: number, uniform: number): number {
  return seconds * (0.9 + 0.2 * uniform);
}
