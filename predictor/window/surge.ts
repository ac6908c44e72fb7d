import type { Arrivals } from "./arrival-counter.ts";
import type { Interval } from "./interval.ts";

/** Slots of time per window in which arrivals are counted. */
export const SLOTS_PER_WINDOW = 20;

/** Lengths of the intervals that are looked at, slots: a fifth and two fifths of a window. */
const LENGTHS = [4, 8];

/** More requests than expected, by this factor, are worth a plan before the window is over. */
export const LEAST_GROWTH = 1.3;

/** Standard deviations by which they must be more besides: intervals are many, and chance has a try in each. */
const NO_CHANCE = 4;

/** Arrivals as they were counted so far, in [fromMs, toMs). */
export interface CountedArrivals {
  readonly slotMs: number;
  between(fromMs: number, toMs: number): Arrivals;
}

/**
 * Rate at which requests have begun since a window over that at which they began in it, in the fastest interval that lies
 * since then by at least half, until now.
 * @param expected the ratio that is known already, at least 1
 * @returns undefined where it is not larger than expected beyond chance
 */
export function surgeSince(
  window: Interval,
  nowMs: number,
  arrivals: CountedArrivals,
  expected = 1,
): number | undefined {
  const { slotMs } = arrivals;
  const before = arrivals.between(window.startMs, window.endMs);
  if (before.spans === 0) return undefined;
  let highest: number | undefined;
  for (const length of LENGTHS) {
    const lengthMs = length * slotMs;
    const share = lengthMs / (window.endMs - window.startMs);
    const firstMs = window.endMs - lengthMs / 2;
    for (let fromMs = firstMs; fromMs + lengthMs <= nowMs; fromMs += slotMs) {
      const now = arrivals.between(fromMs, fromMs + lengthMs);
      const ratio = now.requests / (before.requests * share);
      if (ratio < LEAST_GROWTH * expected) continue;
      if (isBeyondChance(now.spans, before.spans, share * expected)) highest = Math.max(highest ?? 0, ratio);
    }
  }
  return highest;
}

/**
 * A Poisson count is larger than `share` of another one beyond chance. The root of such a count has a standard deviation of
 * a half whatever its mean (Anscombe, 1948), so that small counts need no table.
 */
function isBeyondChance(spans: number, spansBefore: number, share: number): boolean {
  const root = (count: number): number => Math.sqrt(count + 3 / 8);
  return root(spans) - root(share * spansBefore) > (NO_CHANCE / 2) * Math.sqrt(1 + share);
}
