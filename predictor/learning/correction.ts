/** Measured over predicted is believed within these bounds. */
const BELIEVED = { least: 0.5, most: 4 };

/** Measured over predicted as far as it is believed; undefined when either is not known. */
export function shownBy(ratio: number): number | undefined {
  if (!(ratio > 0) || !Number.isFinite(ratio)) return undefined;
  return Math.min(BELIEVED.most, Math.max(BELIEVED.least, ratio));
}

/** Share of a new measurement in what is learnt. */
const LEARNT_SHARE = 0.3;

/** What was learnt so far, a correction or the quantity itself, and one more window. */
export function learntCorrection(before: number | undefined, now: number): number {
  return before === undefined ? now : (1 - LEARNT_SHARE) * before + LEARNT_SHARE * now;
}
