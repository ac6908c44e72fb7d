import type { IntervalScale } from "./model.ts";

/** Share of measured values that the interval is meant to hold. */
export const INTERVAL_COVERAGE = 0.9;
const MISS_EACH_SIDE = (1 - INTERVAL_COVERAGE) / 2;

/**
 * Split conformal calibration (Vovk et al., 2005; normalised by a predicted spread, Lei et al., 2018), one side at a time:
 * with n scores the k-th smallest bounds a new one with probability ≥ k/(n + 1).
 * @param scores (ln measured − ln predicted) / spread on rows that trained nothing
 * @returns the widest scores seen where there are too few for the wanted coverage
 */
export function calibrate(scores: Iterable<number>): IntervalScale {
  const sorted = Float64Array.from(scores)
    .filter((score) => Number.isFinite(score))
    .sort();
  const n = sorted.length;
  if (n === 0) return { low: -UNTOLD, high: UNTOLD };
  const rank = Math.min(n, Math.ceil((1 - MISS_EACH_SIDE) * (n + 1)));
  return { low: Math.min(0, sorted[n - rank] ?? 0), high: Math.max(0, sorted[rank - 1] ?? 0) };
}

/** Scale without any evidence: one factor of e either way at spread 1. */
const UNTOLD = 1;

/** How far one measured value moves the interval, in units of its present half-width. */
export const DEFAULT_TRACKING_STEP = 0.02;

/**
 * Moves the interval by one measured value, so that its coverage holds in the long run whatever the service does
 * (quantile tracking: Gibbs and Candès, 2021; Angelopoulos et al., 2023): a miss on one side widens that side by
 * (1 − 0.05) steps, a hit narrows it by 0.05 steps.
 * @param score (ln measured − ln predicted) / spread of a value that was predicted before it was measured
 */
export function trackInterval(
  scale: IntervalScale,
  score: number,
  step = DEFAULT_TRACKING_STEP,
): IntervalScale {
  if (!Number.isFinite(score)) return scale;
  const by = step * Math.max(1e-3, scale.high - scale.low);
  const move = (missed: boolean): number => by * ((missed ? 1 : 0) - MISS_EACH_SIDE);
  return {
    low: Math.min(0, scale.low - move(score < scale.low)),
    high: Math.max(0, scale.high + move(score > scale.high)),
  };
}
