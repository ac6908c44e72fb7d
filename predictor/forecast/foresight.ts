import { z } from "zod";
import { expectedNear, expectedPeak, highestOf } from "./expected-load.ts";
import { emptySeries, LoadSeries, RESOLUTIONS, withLoad, withPastLoad } from "./load-series.ts";
import type { LoadInterval } from "./load-series.ts";
import { judgeSeason, SeasonRecord } from "./season-record.ts";

/** Seasons are looked for and judged each time that so many steps have been added. */
const JUDGED_EVERY = 4;
/** A season is used from where its loss is this much of that of the load which is held, until it is no less. */
const BETTER = 0.95;
/** Load above the forecast by so many standard deviations is a surprise. */
const SURPRISE = 3;

/** What is known of the load of the past, by the length of a step. */
export const ForesightState = z
  .array(
    z.strictObject({
      series: LoadSeries,
      /** Steps added since the season was judged. */
      unjudged: z.number().int().nonnegative(),
      season: SeasonRecord.optional(),
      /** The season is in use. */
      isServed: z.boolean(),
    }),
  )
  .max(RESOLUTIONS.length);
export type ForesightState = z.infer<typeof ForesightState>;
type Resolution = ForesightState[number];

export const emptyForesight = (): ForesightState =>
  emptySeries().map((series) => ({ series, unjudged: 0, isServed: false }));

/** How far a forecast reaches, and what counts without one. */
export interface Reach {
  readonly reachMs: number;
  /** Without a season the highest load of this time is kept ready for. */
  readonly holdMs: number;
}

const stepsOf = (ms: number, stepMs: number): number => Math.max(1, Math.ceil(ms / stepMs));

/** Takes up the load of one more interval. */
export function observe(state: ForesightState, load: LoadInterval, reach: Reach): ForesightState {
  return state.map((each): Resolution => {
    const series = withLoad(each.series, load);
    const { stepMs, values } = series;
    const added = Math.round((series.endMs - each.series.endMs) / stepMs);
    const unjudged = Math.min(JUDGED_EVERY, each.unjudged + Math.max(0, added));
    if (unjudged < JUDGED_EVERY) return { ...each, series, unjudged };
    const season = judgeSeason(values, stepsOf(reach.reachMs, stepMs), stepsOf(reach.holdMs, stepMs));
    if (season === undefined) return { series, unjudged: 0, isServed: false };
    const most = (each.isServed ? 1 : BETTER) * season.heldPinball;
    return { series, unjudged: 0, season, isServed: season.pinball < most };
  });
}

/**
 * Puts the load of the time before in front of what the state knows, so that a season is in use at once which was measured before
 * the state began. Seasons are judged with the next load that {@link observe} takes up.
 * @param past by rising start, without overlap; intervals of any lengths
 */
export function withPast(state: ForesightState, past: readonly LoadInterval[]): ForesightState {
  return state.map((each) => {
    const series = withPastLoad(each.series, past);
    const isLonger = series.values.length > each.series.values.length;
    return isLonger ? { ...each, series, unjudged: JUDGED_EVERY } : each;
  });
}

/** The highest load that seasons say will come, as a log-normal distribution. */
export interface Foreseen {
  /** Median of the highest load, requests per second. */
  readonly perSecond: number;
  /** Standard deviation of its logarithm. */
  readonly sigma: number;
  /** Highest load of the time that is known. */
  readonly mostPerSecond: number;
  readonly seasonSeconds: number;
}

/**
 * Undefined where no season does better than the load of late, or where load has come of late that the season did not say: then
 * nobody knows what else will.
 */
export function foresee(state: ForesightState, { holdMs, reachMs }: Reach): Foreseen | undefined {
  let best: { readonly found: Foreseen; readonly loss: number } | undefined;
  for (const { isServed, season, series } of state) {
    if (!isServed || season === undefined) continue;
    const { stepMs, values } = series;
    const { heldPinball, method, pinball, seasonSteps, sigma } = season;
    const loss = pinball / heldPinball;
    if (loss >= (best?.loss ?? Number.POSITIVE_INFINITY)) continue;
    if (isSurprised(series, season, stepsOf(holdMs, stepMs))) continue;
    const [origin, ahead] = [values.length - 1, stepsOf(reachMs, stepMs)];
    const perSecond = expectedPeak(values, { ahead, method, origin, season: seasonSteps });
    if (!(perSecond > 0)) continue;
    const mostPerSecond = highestOf(values, 0, origin);
    best = { found: { perSecond, sigma, mostPerSecond, seasonSeconds: (seasonSteps * stepMs) / 1e3 }, loss };
  }
  return best?.found;
}

/** Whether one of the last steps was higher than the season had it, beyond chance. */
function isSurprised(
  { values }: LoadSeries,
  { seasonSteps, stepSigma }: SeasonRecord,
  hold: number,
): boolean {
  const most = Math.exp(SURPRISE * stepSigma);
  for (let at = Math.max(0, values.length - hold); at < values.length; at += 1) {
    const value = values[at];
    if (typeof value === "number" && !(value <= most * expectedNear(values, at, seasonSteps))) return true;
  }
  return false;
}
