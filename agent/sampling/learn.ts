import { budgetStep, estimatedMiss, missStretch } from "./interval.ts";
import { jumpFound, lateSeconds, release, settleJump } from "./jumps.ts";
import type { Row } from "./table.ts";

/** A difference beyond this many standard deviations is a jump and teaches nothing about the calm between jumps. */
const JUMP_DEVIATIONS = 4;
/** A difference counts for at most this many expected variances. */
const VARIANCE_CLIP = 9;
/** Weight of one squared difference in the diffusion, of one product of neighbours in the noise. */
const DIFFUSION_WEIGHT = 0.08;
const NOISE_WEIGHT = 0.04;
/** Only neighbours closer than this many shortest intervals tell noise; what they told fades with this memory. */
const NOISE_GAPS = 3;
const NOISE_MEMORY_SECONDS = 3600;
/** The noise counts once this many neighbours have told it. */
const NOISE_TRUSTED = 12;
/** The tolerance is at least this many standard deviations of the noise: no sampling can hold less. */
const NOISE_DEVIATIONS = 2;
/** The error budget moves the logarithm of the interval by this per longest interval, down to an eighth. */
const BUDGET_GAIN = 1;
const LOWEST_LOG_SCALE = -Math.log(8);
/** Before anything is known, the diffusion is what would ask for this many shortest intervals. */
const PRIOR_INTERVALS = 3;

/** The diffusion to start from: short intervals until calm has been seen. */
export function priorDiffusion(gain: number, tolerance: number, minSeconds: number): number {
  return (gain * tolerance ** 2) / (PRIOR_INTERVALS * minSeconds);
}

const noiseOf = (row: Row): number => (row.noisePairs < NOISE_TRUSTED ? 0 : Math.max(0, row.noise));

/** eps in force before the cost budget: the stated tolerance, or the noise when that is larger. */
export function noiseTolerance(row: Row): number {
  return Math.max(row.tolerance, NOISE_DEVIATIONS * Math.sqrt(noiseOf(row)));
}

/** Seconds over which the diffusion adds to the difference of the held rate and the next one. */
function diffusionSpan(row: Row, gapSeconds: number): number {
  return row.isGauge === 1 ? gapSeconds : (gapSeconds + row.gapSeconds) / 3;
}

/** How often the noise of one second counts in that difference: a longer mean has less of it. */
function noiseShare(row: Row, gapSeconds: number): number {
  return row.isGauge === 1 ? 2 : 1 / gapSeconds + 1 / row.gapSeconds;
}

function expectedVariance(row: Row, gapSeconds: number): number {
  const diffusion = Math.max(0, row.diffusion) * diffusionSpan(row, gapSeconds);
  return diffusion + Math.max(0, row.noise) * noiseShare(row, gapSeconds);
}

/**
 * Takes the rate (or level) read after a gap into the row: miss, jump, noise, diffusion, error budget. Expects `lastMs` and
 * `gapSeconds` of the row still to be those of the reading before.
 * @returns whether the signal jumped, so that the next reading settles what it jumped to
 */
export function learn(row: Row, rate: number, gapSeconds: number): boolean {
  if (Number.isNaN(row.rate)) {
    keep(row, rate, gapSeconds, Number.NaN);
    return false;
  }
  const difference = rate - row.rate;
  if (row.settling === 1) {
    settleJump(row, rate, noiseTolerance(row));
    keep(row, rate, gapSeconds, Number.NaN);
    return false;
  }
  const tolerance = noiseTolerance(row);
  const missed = Math.abs(difference) > tolerance;
  if (missed) row.misses += 1;
  spendBudget(row, difference, tolerance, gapSeconds);
  const expected = expectedVariance(row, gapSeconds);
  if (missed && difference ** 2 > JUMP_DEVIATIONS ** 2 * expected) {
    jumpFound(row, row.rate, gapSeconds + row.gapSeconds / 2);
    keep(row, rate, gapSeconds, Number.NaN);
    return true;
  }
  learnVariance(row, difference, gapSeconds, Math.sqrt(VARIANCE_CLIP * expected));
  const trend = Math.max(0, Math.abs(difference) - Math.sqrt(expected));
  release(row, trend, (gapSeconds + row.gapSeconds) / 2, tolerance);
  keep(row, rate, gapSeconds, difference);
  return false;
}

function keep(row: Row, rate: number, gapSeconds: number, difference: number): void {
  row.rate = rate;
  row.gapSeconds = gapSeconds;
  row.difference = difference;
}

function spendBudget(row: Row, difference: number, tolerance: number, gapSeconds: number): void {
  const miss = estimatedMiss(difference, tolerance, missStretch(row.isGauge === 1 ? "gauge" : "counter"));
  const gain = BUDGET_GAIN * Math.min(1, gapSeconds / row.maxSeconds);
  row.logScale = budgetStep(row.logScale, miss, row.missTarget, { gain, low: LOWEST_LOG_SCALE, high: 0 });
}

/**
 * Two neighbouring differences tell noise from lasting change (Roll 1984): noise makes them oppose each other, with
 * covariance -noise / T; what the noise does not explain of the squares is diffusion. Neither estimate is kept above
 * zero here, only where it is used: clipping would bias it.
 */
function learnVariance(row: Row, difference: number, gapSeconds: number, limit: number): void {
  const clipped = Math.max(-limit, Math.min(limit, difference));
  const held = row.isGauge === 1 ? 1 : row.gapSeconds;
  row.noise *= Math.exp(-gapSeconds / NOISE_MEMORY_SECONDS);
  if (!Number.isNaN(row.difference) && row.gapSeconds <= NOISE_GAPS * row.minSeconds) {
    row.noisePairs += 1;
    const weight = Math.max(NOISE_WEIGHT, 1 / row.noisePairs);
    row.noise += weight * (-clipped * row.difference * held - row.noise);
  }
  const unexplained = clipped ** 2 - Math.max(0, row.noise) * noiseShare(row, gapSeconds);
  row.diffusion += DIFFUSION_WEIGHT * (unexplained / diffusionSpan(row, gapSeconds) - row.diffusion);
}

/** The interval the signal asks for, before jitter and cost: within [minSeconds, maxSeconds]. */
export function wantedSeconds(row: Row): number {
  if (row.settling === 1 || Number.isNaN(row.rate)) return row.minSeconds;
  const variance = Math.max(0, row.diffusion);
  const diffusing = ((row.gain * noiseTolerance(row) ** 2) / variance) * Math.exp(row.logScale);
  const late = lateSeconds(row, row.lastMs);
  return Math.max(row.minSeconds, Math.min(diffusing, late, row.releaseSeconds, row.maxSeconds));
}

/**
 * Whether a reading that a guard asked for leaves the signal under suspicion: false only when what it gained beyond the
 * held rate, and one standard deviation of what is usual over the gap, explain neither a quarter of what the guard
 * saw nor one second at the tolerance.
 * @param seen what the guard saw in the unit of the signal's total; NaN when it counts something else
 */
export function underSuspicion(row: Row, rate: number, gapSeconds: number, seen: number): boolean {
  if (Number.isNaN(row.rate)) return true;
  const tolerance = noiseTolerance(row);
  if (row.isGauge === 1) return Math.abs(rate - row.rate) > tolerance;
  const excess = Math.abs(rate - row.rate) * gapSeconds;
  const usual = Math.sqrt(expectedVariance(row, gapSeconds)) * gapSeconds;
  return excess + usual > Math.max(tolerance, Number.isNaN(seen) ? 0 : Math.abs(seen) / 4);
}
