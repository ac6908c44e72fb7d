import { NonNegative } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";
import { expectedNear, expectedPeak, highestOf, SEASONAL_METHODS } from "./expected-load.ts";
import type { SeasonalMethod, Steps } from "./expected-load.ts";
import { seasonOf } from "./season.ts";

/** Quantile of the load that forecasts are compared at: too little is nine times as bad as too much. */
const QUANTILE = 0.9;

/** A season is at least so many times as long as the reach: the top of a shorter one lies in nearly every reach. */
const LEAST_SEASON_RATIO = 1.5;

/** A season that was found, and how well it has said what the highest load would be. */
export const SeasonRecord = z.strictObject({
  seasonSteps: z.number().int().positive(),
  method: z.enum(SEASONAL_METHODS),
  /** Mean pinball loss of ln(highest load) at the quantile 0.9. */
  pinball: NonNegative,
  /** The same of the highest load of the hold time before, in place of the season. */
  heldPinball: NonNegative,
  /** Root mean square of ln(load / forecast). */
  sigma: NonNegative,
  /** The same of a single step, over the highest that the season says of it and of the steps beside it. */
  stepSigma: NonNegative,
});
export type SeasonRecord = z.infer<typeof SeasonRecord>;

interface Score {
  readonly pinball: number;
  readonly sigma: number;
}

/**
 * Loss of forecasts of the highest load, made at each step but those of the first season. One made a season ago counts half.
 * Undefined where none can be judged.
 */
function scoreOf(
  steps: Steps,
  season: number,
  ahead: number,
  forecast: (origin: number) => number,
): Score | undefined {
  let [weights, loss, square] = [0, 0, 0];
  for (let origin = season; origin + ahead < steps.length; origin += 1) {
    const error = Math.log(highestOf(steps, origin + 1, origin + ahead) / forecast(origin));
    if (!Number.isFinite(error)) continue;
    const weight = 0.5 ** ((steps.length - origin) / season);
    weights += weight;
    loss += weight * (error > 0 ? QUANTILE : QUANTILE - 1) * error;
    square += weight * error ** 2;
  }
  return weights > 0 ? { pinball: loss / weights, sigma: Math.sqrt(square / weights) } : undefined;
}

/**
 * Finds the season of a series and judges it by the past that the series holds.
 * @param ahead steps to look ahead
 * @param hold steps whose highest load counts where there is no season
 */
export function judgeSeason(steps: Steps, ahead: number, hold: number): SeasonRecord | undefined {
  const season = seasonOf(steps);
  if (season === undefined || season < LEAST_SEASON_RATIO * ahead) return undefined;
  const held = scoreOf(steps, season, ahead, (origin) => highestOf(steps, origin - hold + 1, origin));
  if (held === undefined) return undefined;
  let best: (Score & { method: SeasonalMethod }) | undefined;
  for (const method of SEASONAL_METHODS) {
    const score = scoreOf(steps, season, ahead, (origin) =>
      expectedPeak(steps, { origin, season, ahead, method }),
    );
    if (score !== undefined && score.pinball < (best?.pinball ?? Number.POSITIVE_INFINITY))
      best = { ...score, method };
  }
  const stepSigma = scoreOf(steps, season, 1, (origin) => expectedNear(steps, origin + 1, season))?.sigma;
  if (best === undefined || stepSigma === undefined) return undefined;
  return { ...best, seasonSteps: season, heldPinball: held.pinball, stepSigma };
}
