import { budgetStep, estimatedMiss } from "./interval.ts";
import type { Row } from "./table.ts";

/** Differences beyond this many standard deviations are jumps and teach nothing about the calm between them. */
const JUMP_DEVIATIONS = 4;
/** A difference counts for at most this many expected variances. */
const VARIANCE_CLIP = 9;
/** Differences learnt before the estimates are trusted, and the weight of one difference from then on. */
const TRUSTED = 4;
const LEARNING_WEIGHT = 0.1;
/** Memory of the rate of unannounced jumps. */
const JUMP_MEMORY_SECONDS = 1800;
/** The tolerance is at least this many standard deviations of the noise: less cannot be held by any sampling. */
const NOISE_DEVIATIONS = 2;
/** How much farther than the difference of two rates the signal may have moved by the end of the gap. */
const COUNTER_STRETCH = 1.5;
const BUDGET_GAIN = 1;
const BUDGET_LOG_BOUND = Math.log(8);
/** Growth of the interval per calm reading after a jump. */
const RELEASE_FACTOR = 4;

/** eps in force before the cost budget: the stated tolerance, or the noise when that is larger. */
export function noiseTolerance(row: Row): number {
  return Math.max(row.tolerance, NOISE_DEVIATIONS * Math.sqrt(row.noise));
}

/** Variance of the difference of the held rate and the next one, as learnt so far. */
function expectedVariance(row: Row, gapSeconds: number): number {
  if (row.isGauge === 1) return 2 * row.noise + row.diffusion * gapSeconds;
  return (
    row.noise * (1 / gapSeconds + 1 / row.gapSeconds) + (row.diffusion * (gapSeconds + row.gapSeconds)) / 3
  );
}

/**
 * Takes the rate (or level) read after a gap into the row: miss, jump, noise and diffusion.
 * Two successive differences tell lasting change from noise (Roll 1984): noise makes neighbours oppose each other
 * (covariance -noise/T), diffusion makes them agree.
 * @returns whether the signal jumped, so that the next reading is wanted soon
 */
export function learn(row: Row, rate: number, gapSeconds: number): boolean {
  const difference = rate - row.rate;
  if (Number.isNaN(row.rate)) return accept(row, rate, gapSeconds, Number.NaN);
  if (row.settling === 1) {
    row.settling = 0;
    row.calm = 1;
    return accept(row, rate, gapSeconds, Number.NaN);
  }
  const tolerance = noiseTolerance(row);
  if (Math.abs(difference) > tolerance) row.misses += 1;
  spendBudget(row, difference, tolerance, gapSeconds);
  row.jumpRate *= Math.exp(-gapSeconds / JUMP_MEMORY_SECONDS);
  const expected = expectedVariance(row, gapSeconds);
  const trusted = row.learnt >= TRUSTED;
  if (Math.abs(difference) > tolerance && trusted && difference ** 2 > JUMP_DEVIATIONS ** 2 * expected) {
    if (row.awake === 0) row.jumpRate += 1 / JUMP_MEMORY_SECONDS;
    row.calm = 0;
    row.settling = row.isGauge === 1 ? 0 : 1;
    accept(row, rate, gapSeconds, Number.NaN);
    return true;
  }
  learnVariance(row, difference, gapSeconds, trusted ? VARIANCE_CLIP * expected : Infinity);
  row.calm += 1;
  return accept(row, rate, gapSeconds, difference);
}

function accept(row: Row, rate: number, gapSeconds: number, difference: number): boolean {
  row.rate = rate;
  row.gapSeconds = gapSeconds;
  row.difference = difference;
  return false;
}

function spendBudget(row: Row, difference: number, tolerance: number, gapSeconds: number): void {
  const miss = estimatedMiss(difference, tolerance, row.isGauge === 1 ? 1 : COUNTER_STRETCH);
  const share = Math.min(1, gapSeconds / row.maxSeconds);
  row.logScale = budgetStep(row.logScale, miss, row.missTarget, BUDGET_GAIN * share, BUDGET_LOG_BOUND);
}

function learnVariance(row: Row, difference: number, gapSeconds: number, most: number): void {
  row.learnt = Math.min(row.learnt + 1, 1 / LEARNING_WEIGHT);
  const weight = Math.max(LEARNING_WEIGHT, 1 / row.learnt);
  const gauge = row.isGauge === 1;
  const held = gauge ? 1 : row.gapSeconds;
  const limit = Math.sqrt(most);
  const clipped = Math.max(-limit, Math.min(limit, difference));
  if (!Number.isNaN(row.difference)) {
    const opposition = -clipped * row.difference * held;
    row.noise = Math.max(0, row.noise + weight * (opposition - row.noise));
  }
  const span = gauge ? gapSeconds : (gapSeconds + held) / 3;
  const noisePart = gauge ? 2 * row.noise : row.noise * (1 / gapSeconds + 1 / held);
  const lasting = Math.max(0, clipped ** 2 - noisePart) / span;
  row.diffusion += weight * (lasting - row.diffusion);
}

/** The interval the signal asks for, before jitter and cost: within [minSeconds, maxSeconds]. */
export function wantedSeconds(row: Row): number {
  if (row.settling === 1 || Number.isNaN(row.rate)) return row.minSeconds;
  const tolerance = noiseTolerance(row);
  const diffusing = ((row.gain * tolerance ** 2) / row.diffusion) * Math.exp(row.logScale);
  const jumping = (2 * row.missTarget) / row.jumpRate;
  const released = row.minSeconds * RELEASE_FACTOR ** Math.min(row.calm, 16);
  const wanted = Math.min(diffusing, jumping, released, row.maxSeconds);
  return Math.max(row.minSeconds, wanted);
}

/**
 * Whether a reading that a guard asked for leaves the signal under suspicion: false only when what it gained beyond the
 * held rate, with two standard deviations of what is usual over the gap, explains neither a quarter of what the guard
 * saw nor one second at the tolerance.
 */
export function underSuspicion(row: Row, rate: number, gapSeconds: number): boolean {
  const tolerance = noiseTolerance(row);
  if (Number.isNaN(row.rate) || row.learnt < TRUSTED) return true;
  if (row.isGauge === 1) return Math.abs(rate - row.rate) > tolerance;
  const excess = (rate - row.rate) * gapSeconds;
  const usual = 2 * Math.sqrt(expectedVariance(row, gapSeconds)) * gapSeconds;
  const seen = Number.isNaN(row.wakeExcess) ? 0 : Math.abs(row.wakeExcess) / 4;
  return Math.abs(excess) + usual > Math.max(tolerance, seen);
}
