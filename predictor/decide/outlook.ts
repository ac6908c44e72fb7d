import { NonNegative, EpochMs } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";

/** Points that are kept: enough for a line, and for forecasts made a horizon ago to be judged by what came. */
const MOST_POINTS = 32;
/** Points that a level or a line is fitted to: 90 s of windows of 15 s. */
const FITTED_POINTS = 6;
/** Weight of the newest error of a forecast in the mean of their squares. */
const ERROR_SHARE = 0.08;
/** Until forecasts have been judged they count as off by so much, as ln. */
const UNJUDGED_ERROR = 0.1;

export const FORECASTS = ["last", "mean", "line"] as const;
export type Forecast = (typeof FORECASTS)[number];

/** What is remembered of the load of the whole application. */
export const OutlookState = z.strictObject({
  points: z
    .array(z.strictObject({ endMs: EpochMs, perSecond: NonNegative, count: NonNegative }))
    .max(MOST_POINTS),
  /** Discounted mean of the squares of ln(load / forecast a horizon before), by kind of forecast. */
  squares: z.record(z.enum(FORECASTS), NonNegative),
});
export type OutlookState = z.infer<typeof OutlookState>;

export function emptyOutlook(): OutlookState {
  const square = UNJUDGED_ERROR ** 2;
  return { points: [], squares: { last: square, mean: square, line: square } };
}

/** Load at the horizon as a log-normal time would have it: over that of the last window. */
export interface LoadOutlook {
  /** Median of load at the horizon over the load measured in the last window, never under what is known of now. */
  readonly ratio: number;
  /** Standard deviation of ln(load at the horizon). */
  readonly sigma: number;
  /** The forecast that was nearest of late. */
  readonly forecast: Forecast;
}

type Points = OutlookState["points"];

/** Requests per second a time after the last point; at least a tenth of the last point, so that a logarithm is finite. */
function forecastOf(kind: Forecast, points: Points, afterMs: number): number {
  const fitted = points.slice(-FITTED_POINTS);
  const last = fitted.at(-1);
  if (last === undefined) return 0;
  if (kind === "last") return last.perSecond;
  const mean = fitted.reduce((sum, { perSecond }) => sum + perSecond, 0) / fitted.length;
  if (kind === "mean" || fitted.length < 3) return mean;
  const meanMs = fitted.reduce((sum, { endMs }) => sum + endMs, 0) / fitted.length;
  let [product, square] = [0, 0];
  for (const { endMs, perSecond } of fitted) {
    product += (endMs - meanMs) * (perSecond - mean);
    square += (endMs - meanMs) ** 2;
  }
  const slope = square > 0 ? product / square : 0;
  return Math.max(0.1 * last.perSecond, mean + slope * (last.endMs + afterMs - meanMs));
}

/**
 * Takes up the load of one more window, and judges by it the forecasts that were made a horizon before.
 * @param horizonMs from the end of a window until what is decided on it serves
 */
export function observeLoad(
  state: OutlookState,
  point: Points[number],
  windowMs: number,
  horizonMs: number,
): OutlookState {
  const { squares } = state;
  const steps = Math.max(1, Math.round(horizonMs / windowMs));
  const before = state.points.slice(0, Math.max(0, state.points.length - steps + 1));
  const made = before.at(-1);
  const isJudged = before.length >= FITTED_POINTS && made !== undefined && point.perSecond > 0;
  const judged = (kind: Forecast): number => {
    const forecast = isJudged ? forecastOf(kind, before, point.endMs - made.endMs) : 0;
    if (!(forecast > 0)) return squares[kind];
    return (1 - ERROR_SHARE) * squares[kind] + ERROR_SHARE * Math.log(point.perSecond / forecast) ** 2;
  };
  return {
    points: [...state.points, point].slice(-MOST_POINTS),
    squares: { last: judged("last"), mean: judged("mean"), line: judged("line") },
  };
}

/**
 * Load to be ready for, from the forecast that was nearest of late. Load that is forecast to fall counts as what it is now:
 * a forecast adds and never removes.
 * @param surgeRatio load counted since the window over that in it; 1 where none was
 */
export function outlookOf({ points, squares }: OutlookState, horizonMs: number, surgeRatio: number): LoadOutlook {
  const forecast = FORECASTS.reduce((best, kind) => (squares[kind] < squares[best] ? kind : best));
  const last = points.at(-1);
  if (last === undefined || !(last.perSecond > 0)) return { ratio: surgeRatio, sigma: UNJUDGED_ERROR, forecast };
  const ahead = Math.max(forecastOf(forecast, points, 0), forecastOf(forecast, points, horizonMs));
  const ratio = Math.max(surgeRatio, ahead / last.perSecond);
  return { ratio, sigma: Math.sqrt(squares[forecast]), forecast };
}
