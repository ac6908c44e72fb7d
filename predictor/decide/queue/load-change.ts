import type { DecisionContext } from "../facts/observation.ts";

/** More requests than before by this factor explain a miss. */
export const SURGE_RATIO = 1.15;

/** Standard deviations of a Poisson count that more requests must exceed to be no chance. */
const NO_CHANCE = 2;

/** Load has risen beyond chance since the last window, and all of it was seen. */
export function hasRisen({ missing, state, windowSet }: DecisionContext, arrivalsPerSecond: number): boolean {
  const before = state.requestsPerSecond;
  return before !== undefined && missing === undefined && isMore(arrivalsPerSecond, before, windowSet);
}

/** Load has fallen beyond chance since the last window, and all of it was seen. */
export function hasFallen(
  { missing, state, windowSet }: DecisionContext,
  arrivalsPerSecond: number,
): boolean {
  const before = state.requestsPerSecond;
  return before !== undefined && missing === undefined && isMore(before, arrivalsPerSecond, windowSet);
}

/** One rate of a window is higher than another, noticeably and beyond chance. */
function isMore(high: number, low: number, { endMs, startMs }: DecisionContext["windowSet"]): boolean {
  const seconds = (endMs - startMs) / 1e3;
  if (!(seconds > 0) || high <= SURGE_RATIO * low) return false;
  return (high - low) * seconds > NO_CHANCE * Math.sqrt((high + low) * seconds);
}
