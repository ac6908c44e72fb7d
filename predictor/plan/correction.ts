/** Measured over predicted is believed within these bounds where things are steady. */
const STEADY = { least: 0.5, most: 4 };

/** A window that is not steady, or has few calls, may move the correction learnt before by this factor either way. */
const UNSTEADY_FACTOR = 1.25;

/** What a correction goes by. */
export interface CorrectionFacts {
  /** Measured over predicted; not finite where either is not known. */
  readonly ratio: number;
  /** Nothing starts, resizes or drains, and there are enough calls. */
  readonly steady: boolean;
  /** Learnt in steady windows before; 1 without any. */
  readonly learnt?: number | undefined;
}

/**
 * Factor by which a prediction is corrected. A window in which a queue builds up or is worked off measures the queue and
 * not the size: what steady windows said before then holds, and a little of what is measured.
 */
export function correctionOf({ ratio, steady, learnt = 1 }: CorrectionFacts): number {
  if (!(ratio > 0) || !Number.isFinite(ratio)) return learnt;
  if (steady) return Math.min(STEADY.most, Math.max(STEADY.least, ratio));
  return Math.min(UNSTEADY_FACTOR * learnt, Math.max(learnt / UNSTEADY_FACTOR, ratio));
}

/** Share of a new measurement in what is learnt. */
const LEARNT_SHARE = 0.3;

/** The correction learnt so far and one more steady window. */
export function learntCorrection(before: number | undefined, now: number): number {
  return before === undefined ? now : (1 - LEARNT_SHARE) * before + LEARNT_SHARE * now;
}
