import { chanceOfTail } from "../profile/order-statistics.ts";

/** Measured over predicted is believed within these bounds where things are steady. */
const STEADY = { least: 0.5, most: 4 };

/** A window that is not steady, or has few calls, may raise the correction learnt before by this factor. */
const UNSTEADY_FACTOR = 1.25;

/** What a correction goes by. */
export interface CorrectionFacts {
  /** Measured over predicted; not finite where either is not known. */
  readonly ratio: number;
  /** Nothing starts, resizes or drains, and there are enough calls. */
  readonly steady: boolean;
  /** Calls that the measured tail is one of. */
  readonly calls: number;
  /** Learnt in steady windows before. */
  readonly learnt?: number | undefined;
}

/**
 * Relative standard deviation of a correction from one steady window to the next, beyond chance: about the error that
 * corrected profiles show on a loaded machine.
 */
const DRIFT = 0.3;

/**
 * Factor by which a prediction is corrected. What is measured in a steady window and what was learnt before are weighted by
 * how far each may be off: the one by the chance of a tail of so few calls, the other by what may have changed since. A
 * window in which a queue builds up or is worked off measures the queue and not the size: it may be slow for that, so what was
 * learnt then holds, and a little of what is measured. It cannot be fast for that.
 */
export function correctionOf({ ratio, steady, calls, learnt }: CorrectionFacts): number {
  if (!isKnown(ratio)) return learnt ?? 1;
  const most = steady ? STEADY.most : Math.min(STEADY.most, (learnt ?? 1) * UNSTEADY_FACTOR);
  const shown = within(STEADY.least, ratio, most);
  if (learnt === undefined) return shown;
  const weight = DRIFT ** 2 / (DRIFT ** 2 + chanceOfTail(calls) ** 2);
  return shown ** weight * learnt ** (1 - weight);
}

/** What a steady window adds to what is learnt; undefined when either tail is not known. */
export function shownBy(ratio: number): number | undefined {
  return isKnown(ratio) ? within(STEADY.least, ratio, STEADY.most) : undefined;
}

function isKnown(ratio: number): boolean {
  return ratio > 0 && Number.isFinite(ratio);
}

function within(least: number, value: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

/** Share of a new measurement in what is learnt. */
const LEARNT_SHARE = 0.3;

/** What was learnt so far, a correction or the quantity itself, and one more window. */
export function learntCorrection(before: number | undefined, now: number): number {
  return before === undefined ? now : (1 - LEARNT_SHARE) * before + LEARNT_SHARE * now;
}
