import { differenceVariance, longestHold, movementOf } from "./movement.ts";
import type { Movement } from "./movement.ts";
import type { Row } from "./table.ts";

/** What the controller goes by. The benchmark leaves each number out in turn (`ablations`). */
export interface Terms {
  /** What the readings are for: means over windows of this length, s. */
  readonly windowSeconds: number;
  /** A difference beyond the tolerance and this many standard deviations is a jump. */
  readonly jumpDeviations: number;
  /** Windows are left unread where this many standard deviations of their error lie within the tolerance: 97 % for 2.17. */
  readonly holdDeviations: number;
  /** Standard errors by which the diffusion is taken for larger than it looks before windows are left unread. */
  readonly holdErrors: number;
  /** Weight of a pair of differences in what is known of the movement. */
  readonly pairWeight: number;
  /** Pairs after which that is trusted. */
  readonly trustedPairs: number;
  /** How far a window that was off shortens the time between readings (logarithm, per longest interval); 0: not at all. */
  readonly budgetGain: number;
}

export const TERMS: Terms = {
  windowSeconds: 15,
  jumpDeviations: 4,
  holdDeviations: 2.17,
  holdErrors: 2,
  pairWeight: 0.04,
  trustedPairs: 8,
  budgetGain: 1,
};

/** Share of windows that may be off by more than the tolerance. */
const MISS_TARGET = 0.03;
/** A gap longer than this many windows left one unread. */
const UNREAD_WINDOWS = 1.5;
/** A rate over a gap shorter than this part of a window says too little to stand for windows that are not read. */
const SHORTEST_BASE_WINDOWS = 0.5;

function movement(row: Row): Movement {
  return {
    kind: row.isGauge === 1 ? "gauge" : "counter",
    noise: Math.max(0, row.noise),
    diffusion: Math.max(Number.MIN_VALUE, row.diffusion),
  };
}

/** Variance of the difference that a reading after so many seconds shows without a jump. */
function expectedVariance(row: Row, gapSeconds: number): number {
  return differenceVariance(movement(row), gapSeconds, row.gapSeconds);
}

/**
 * Takes the rate (or level) read after a gap into the row. Expects `lastMs` and `gapSeconds` of the row still to be those of the
 * reading before.
 * @returns whether the signal jumped, so that the next reading settles what it jumped to
 */
export function learn(row: Row, rate: number, gapSeconds: number, terms: Terms): boolean {
  const difference = rate - row.rate;
  if (Number.isNaN(difference)) {
    keep(row, rate, gapSeconds, Number.NaN);
    return false;
  }
  if (row.settling === 1) {
    settle(row, rate, gapSeconds, terms);
    return false;
  }
  if (Math.abs(difference) > row.tolerance) row.misses += 1;
  spendBudget(row, difference, gapSeconds, terms);
  if (isJump(row, difference, gapSeconds, terms)) {
    settleNext(row, row.rate);
    keep(row, rate, gapSeconds, Number.NaN);
    return true;
  }
  if (!Number.isNaN(row.difference)) learnMovement(row, difference, gapSeconds, terms);
  keep(row, rate, gapSeconds, difference);
  return false;
}

function isJump(row: Row, difference: number, gapSeconds: number, terms: Terms): boolean {
  if (Math.abs(difference) <= row.tolerance || row.pairs < terms.trustedPairs) return false;
  return difference ** 2 > terms.jumpDeviations ** 2 * expectedVariance(row, gapSeconds);
}

/** A reading jumped, or may have: a counter's mean over the gap mixes before and after, so the next reading settles it. */
export function settleNext(row: Row, beforeRate: number): void {
  row.settling = 1;
  row.beforeRate = beforeRate;
}

/**
 * The reading after a jump. What a jump added before it was read is spread over the whole gap by whoever draws a line between
 * the readings: windows that begin in it are off by that much.
 */
function settle(row: Row, rate: number, gapSeconds: number, terms: Terms): void {
  row.settling = 0;
  const jumped = isJump(row, rate - row.beforeRate, gapSeconds, terms);
  const spread = ((row.rate - row.beforeRate) * row.gapSeconds) / terms.windowSeconds;
  if (jumped) spendBudget(row, spread, row.gapSeconds, terms);
  keep(row, rate, gapSeconds, Number.NaN);
}

/**
 * The error budget (adaptive conformal inference, Gibbs and Candes 2021, on the logarithm of the time between readings): a
 * step down by the share of the gap's windows that was off, a small one up without. The steps telescope, so that the
 * mean share tends to the target whatever the signal does.
 */
function spendBudget(row: Row, error: number, gapSeconds: number, terms: Terms): void {
  const off = Math.abs(error) > row.tolerance ? 1 - row.tolerance / Math.abs(error) : 0;
  const missed = gapSeconds > UNREAD_WINDOWS * terms.windowSeconds ? off : 0;
  const gain = terms.budgetGain * Math.min(1, gapSeconds / row.maxSeconds);
  const shortest = Math.log(terms.windowSeconds / row.maxSeconds);
  row.logScale = Math.min(0, Math.max(shortest, row.logScale + gain * (MISS_TARGET - missed)));
}

function keep(row: Row, rate: number, gapSeconds: number, difference: number): void {
  row.rate = rate;
  row.gapSeconds = gapSeconds;
  row.difference = difference;
}

/** Neither estimate is kept above zero here, only where it is used: clipping would bias it. */
function learnMovement(row: Row, difference: number, gapSeconds: number, terms: Terms): void {
  const kind = row.isGauge === 1 ? "gauge" : "counter";
  const { noise, diffusion } = movementOf(kind, difference, row.difference, gapSeconds, row.gapSeconds);
  row.pairs += 1;
  const weight = Math.max(terms.pairWeight, 1 / row.pairs);
  // Of lasting change a short gap shows little but noise.
  const windows = Math.min(1, Math.min(gapSeconds, row.gapSeconds) / terms.windowSeconds);
  row.noise += weight * (noise - row.noise);
  row.diffusion += weight * windows ** 2 * (diffusion - row.diffusion);
}

/** The interval the signal asks for, before the cost budget: within [minSeconds, maxSeconds], a second or whole windows. */
export function wantedSeconds(row: Row, terms: Terms): number {
  if (row.settling === 1 || Number.isNaN(row.rate)) return row.minSeconds;
  const isBased = row.isGauge === 1 || row.gapSeconds >= SHORTEST_BASE_WINDOWS * terms.windowSeconds;
  const seconds = isBased ? holdSeconds(row, terms) : terms.windowSeconds;
  return Math.max(row.minSeconds, Math.min(row.maxSeconds, seconds));
}

/** How long the rate may stand for windows that are not read, in whole windows. */
function holdSeconds(row: Row, terms: Terms): number {
  const { windowSeconds, holdDeviations, holdErrors, pairWeight, trustedPairs } = terms;
  if (row.pairs < trustedPairs) return windowSeconds;
  const known = movement(row);
  // The diffusion may be larger than it looks, by the standard error of what so many pairs tell of it.
  const usual = differenceVariance(known, windowSeconds, windowSeconds) / windowSeconds;
  const diffusion = known.diffusion + holdErrors * Math.sqrt(Math.max(pairWeight, 1 / row.pairs)) * usual;
  const variance = (row.tolerance / holdDeviations) ** 2;
  const seconds = longestHold({ ...known, diffusion }, variance, windowSeconds);
  const most = Math.min(seconds, row.maxSeconds) * Math.exp(row.logScale);
  return windowSeconds * Math.max(1, Math.floor(most / windowSeconds));
}

/**
 * Whether a reading that a guard asked for leaves the signal under suspicion of a jump that the gap hides: whether what it
 * gained beyond the held rate, and one standard deviation of what is usual over the gap, is more than a second at the
 * tolerance.
 */
export function underSuspicion(row: Row, rate: number, gapSeconds: number): boolean {
  if (Number.isNaN(row.rate)) return true;
  if (row.isGauge === 1) return Math.abs(rate - row.rate) > row.tolerance;
  const excess = Math.abs(rate - row.rate) * gapSeconds;
  const usual = Math.sqrt(expectedVariance(row, gapSeconds)) * gapSeconds;
  return excess + usual > row.tolerance;
}
