import { NonNegative, EpochMs } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";
import { emptyForesight, foresee, ForesightState, observe } from "../../../forecast/foresight.ts";
import type { Foreseen, Reach } from "../../../forecast/foresight.ts";
import { OUTLIER } from "../../../models/queue/take-window.ts";
import { FIRST_RESIDUAL } from "../../../models/queue/profile-state.ts";
import { RECENT_WINDOWS } from "../../../models/recent-windows.ts";
import { median } from "../../../models/statistics.ts";

/** Points that are kept: enough for forecasts made a horizon ago to be judged by what came, in windows of a second. */
const MOST_POINTS = 400;
/** Time that a level or a line is fitted to, and least points: as many windows of 15 s as that is. */
export const FITTED_MS = 90_000;
const FITTED_POINTS = FITTED_MS / 15_000;

/**
 * The highest load of this time is kept ready for. With the two minutes for which an HPA holds what it was asked for that is as long as a
 * decision stands.
 */
export const HOLD_MS = 2 * FITTED_MS;

/** What happened may happen again within this time: a kill for memory, half of the highest load. */
export const AGAIN_MS = 3_600_000;

/** A season is asked for the highest load of the horizon and of so much more: some starts take longer than the mean. */
const MARGIN_MS = 120_000;

export const FORECASTS = ["last", "mean", "line"] as const;
export type Forecast = (typeof FORECASTS)[number];

/** What is remembered of the load of the whole application. */
export const OutlookState = z.strictObject({
  points: z
    .array(
      z.strictObject({
        endMs: EpochMs,
        perSecond: NonNegative,
        count: NonNegative,
        /** More requests failed than may be late: some of the load is requests that came again. */
        isFailing: z.literal(true).optional(),
      }),
    )
    .max(MOST_POINTS),
  /** Times that forecasts have been judged. */
  judged: NonNegative,
  /** Highest load seen, forgotten by half in {@link AGAIN_MS}. */
  peakPerSecond: NonNegative.default(0),
  /** Load of hours, days and weeks, with the seasons found in it. */
  foresight: ForesightState.default(emptyForesight).catch(emptyForesight),
  /** Discounted means of the squares of ln(load / forecast a horizon before), and of those of too low forecasts, by kind. */
  errors: z.record(z.enum(FORECASTS), z.strictObject({ all: NonNegative, under: NonNegative })),
});
export type OutlookState = z.infer<typeof OutlookState>;

export function emptyOutlook(): OutlookState {
  const error = { all: FIRST_RESIDUAL ** 2, under: FIRST_RESIDUAL ** 2 / 2 };
  return {
    points: [],
    judged: 0,
    peakPerSecond: 0,
    foresight: emptyForesight(),
    errors: { last: error, mean: error, line: error },
  };
}

/** Load at the horizon as a log-normal time would have it: over that of the last window. */
export interface LoadOutlook {
  /** Median of load at the horizon over the load measured in the last window, never under what is known of now. */
  readonly ratio: number;
  /** The same over the mean load of as many windows as tell it from chance: what the CPU use of now is for. */
  readonly levelRatio: number;
  /** Standard deviation of ln(load at the horizon). */
  readonly sigma: number;
  /** Highest load that is reckoned with, over the load measured in the last window: what was seen of late, or the median. */
  readonly mostRatio: number;
  /** Median load of the windows that are kept, over that of the last one. */
  readonly usualRatio: number;
  /** The forecast that was nearest of late. */
  readonly forecast: Forecast | "season";
}

type Points = OutlookState["points"];

/** Requests that a level is the mean of: its standard error is a tenth. */
export const LEVEL_COUNT = 100;

interface LoadLevel {
  readonly perSecond: number;
  /** Requests that it is the mean of. */
  readonly count: number;
}

/** Mean of the points up to one of them: of so many at the least, and of as many as count {@link LEVEL_COUNT} requests. */
function levelAt(points: Points, at: number, fewestPoints: number): LoadLevel {
  let [count, sum, pointsTaken] = [0, 0, 0];
  for (let from = at; from >= 0 && (pointsTaken < fewestPoints || count < LEVEL_COUNT); from -= 1) {
    count += points[from]?.count ?? 0;
    sum += points[from]?.perSecond ?? 0;
    pointsTaken += 1;
  }
  return { perSecond: sum / Math.max(1, pointsTaken), count };
}

/** By how many standard deviations of chance a count is above what a load would have made. */
function surpriseOf({ count, perSecond }: LoadLevel, expectedPerSecond: number): number {
  const expected = perSecond > 0 ? (expectedPerSecond / perSecond) * count : 0;
  return (count - expected) / Math.sqrt(1 + expected);
}

/** The level of the last point: that point alone where it is higher than those before by more than chance. */
function levelNow(points: Points): LoadLevel {
  const level = levelAt(points, points.length - 1, 1);
  const last = points.at(-1) ?? level;
  return surpriseOf(last, level.perSecond) > OUTLIER ? last : level;
}

/** Highest level of the points within a time of the last. */
function highestLevel(points: Points, withinMs: number, fewestPoints: number): LoadLevel {
  const lastMs = points.at(-1)?.endMs ?? 0;
  let highest: LoadLevel = { perSecond: 0, count: 0 };
  for (let at = points.length - 1; at >= 0 && (points[at]?.endMs ?? 0) > lastMs - withinMs; at -= 1) {
    const level = levelAt(points, at, fewestPoints);
    if (level.perSecond > highest.perSecond) highest = level;
  }
  return highest;
}

/** Least forecast over the last point, so that a logarithm is finite. */
const LEAST_RATIO = 0.1;

function meanLevel(points: Points): LoadLevel {
  const count = points.reduce((sum, point) => sum + point.count, 0);
  return { perSecond: points.reduce((sum, { perSecond }) => sum + perSecond, 0) / points.length, count };
}

function squaresAboutMean(points: Points): number {
  const mean = meanLevel(points).perSecond;
  return points.reduce((sum, { perSecond }) => sum + (perSecond - mean) ** 2, 0);
}

/**
 * The level since the load changed from one level to another, where that is nearer to the points than a line is and beyond chance:
 * what has risen in one step does not go on rising.
 * @param squaresAboutLine of the same points
 */
function levelSinceStep(points: Points, squaresAboutLine: number): number | undefined {
  let [first, least] = [0, squaresAboutLine];
  for (let at = 1; at < points.length; at += 1) {
    const squares = squaresAboutMean(points.slice(0, at)) + squaresAboutMean(points.slice(at));
    if (squares < least) [first, least] = [at, squares];
  }
  if (first === 0) return undefined;
  const [before, since] = [meanLevel(points.slice(0, first)), meanLevel(points.slice(first))];
  return Math.abs(surpriseOf(since, before.perSecond)) > OUTLIER ? since.perSecond : undefined;
}

/** Requests per second a time after the last point. */
function forecastOf(kind: Forecast, points: Points, afterMs: number): number {
  const last = points.at(-1);
  if (last === undefined) return 0;
  const recent = points.filter(({ endMs }) => endMs > last.endMs - FITTED_MS);
  const fitted = recent.length < FITTED_POINTS ? points.slice(-FITTED_POINTS) : recent;
  if (kind === "last") return levelNow(points).perSecond;
  const mean = fitted.reduce((sum, { perSecond }) => sum + perSecond, 0) / fitted.length;
  if (kind === "mean" || fitted.length < 3) return mean;
  const meanMs = fitted.reduce((sum, { endMs }) => sum + endMs, 0) / fitted.length;
  let [product, square] = [0, 0];
  for (const { endMs, perSecond } of fitted) {
    product += (endMs - meanMs) * (perSecond - mean);
    square += (endMs - meanMs) ** 2;
  }
  const slope = square > 0 ? product / square : 0;
  const squaresAboutLine = squaresAboutMean(fitted) - slope * product;
  const level = levelSinceStep(fitted, squaresAboutLine);
  if (level !== undefined) return level;
  // What rises goes on rising for about as long as it was seen to, and less and less (Gardner and McKenzie, 1985).
  const aheadMs = FITTED_MS * -Math.expm1(-afterMs / FITTED_MS);
  return Math.max(LEAST_RATIO * last.perSecond, mean + slope * (last.endMs + aheadMs - meanMs));
}

export interface OutlookRequest {
  readonly horizonMs: number;
  /** Load seen within this time may be back before capacity that was removed is. */
  readonly holdMs: number;
  /** Load counted since the window over that in it; 1 where none was. */
  readonly surgeRatio: number;
  /** Seasons may take the place of the load that is held. */
  readonly usesSeasons: boolean;
}

const reachOf = (horizonMs: number, holdMs: number): Reach => ({
  reachMs: horizonMs + MARGIN_MS,
  holdMs,
});

/** What a forecast serves: the highest load from now to the horizon, so that load to fall counts as what it is now. */
const served = (kind: Forecast, points: Points, horizonMs: number): number =>
  Math.max(forecastOf(kind, points, 0), forecastOf(kind, points, horizonMs));

/**
 * Takes up the load of one more window, and judges by it the forecasts that were made a horizon before: by the highest load
 * from then to now, less what chance makes of the count. Once requests do not fail any more, what came while they did is forgotten: some of
 * it was requests that came again.
 * @param horizonMs from the end of a window until what is decided on it serves
 */
export function observeLoad(
  state: OutlookState,
  point: Points[number],
  { holdMs, horizonMs, windowMs }: { windowMs: number; horizonMs: number; holdMs: number },
): OutlookState {
  const isFailing = point.isFailing === true;
  const pointsBefore = isFailing ? state.points : state.points.filter((each) => each.isFailing !== true);
  const points = [...pointsBefore, point].slice(-MOST_POINTS);
  const steps = Math.max(1, Math.round(horizonMs / windowMs));
  const judgedPoints = points.slice(0, -steps);
  const peakPerSecond = Math.max(
    isFailing ? 0 : levelNow(points).perSecond,
    state.peakPerSecond * 0.5 ** (windowMs / AGAIN_MS),
  );
  const { endMs, perSecond } = point;
  const load = { startMs: endMs - windowMs, endMs, perSecond };
  const foresight = observe(state.foresight, load, reachOf(horizonMs, holdMs));
  if (isFailing || judgedPoints.length < FITTED_POINTS) return { ...state, points, foresight, peakPerSecond };
  const highest = highestLevel(points, (steps + 1) * windowMs, 1);
  if (!(highest.perSecond > 0)) return { ...state, points, foresight, peakPerSecond };
  const chance = 1 / Math.max(1, highest.count);
  const judge = (kind: Forecast, { all, under }: OutlookState["errors"][Forecast]) => {
    const error = Math.log(highest.perSecond / served(kind, judgedPoints, horizonMs));
    if (!Number.isFinite(error)) return { all, under };
    const square = Math.max(0, error ** 2 - chance);
    const mix = (before: number, now: number): number => before + (now - before) / RECENT_WINDOWS;
    return { all: mix(all, square), under: mix(under, error > 0 ? square : 0) };
  };
  const { last, line, mean } = state.errors;
  return {
    points,
    judged: state.judged + 1,
    peakPerSecond,
    foresight,
    errors: { last: judge("last", last), mean: judge("mean", mean), line: judge("line", line) },
  };
}

/** What seasons say of the time until pods serve that are asked for now, and how long that time is taken to be. */
export function seasonAhead(
  { foresight }: Pick<OutlookState, "foresight">,
  { holdMs, horizonMs }: Pick<OutlookRequest, "holdMs" | "horizonMs">,
): { readonly foreseen: Foreseen | undefined; readonly reachSeconds: number } {
  const reach = reachOf(horizonMs, holdMs);
  return { foreseen: foresee(foresight, reach), reachSeconds: reach.reachMs / 1e3 };
}

/**
 * Load to be ready for: from the forecast that was nearest of late (the highest of all until they have been judged), and no
 * less than was seen a moment ago. Load that is forecast to fall counts as what it is now: a forecast adds and never removes.
 */
export function outlookOf(
  { errors, foresight, judged, peakPerSecond, points }: OutlookState,
  { holdMs, horizonMs, surgeRatio, usesSeasons }: OutlookRequest,
): LoadOutlook {
  const forecast = FORECASTS.reduce((best, kind) => (errors[kind].all < errors[best].all ? kind : best));
  const last = points.at(-1);
  const sigma = Math.sqrt(2 * errors[forecast].under);
  if (last === undefined || !(last.perSecond > 0))
    return {
      ratio: surgeRatio,
      levelRatio: surgeRatio,
      sigma,
      mostRatio: Number.POSITIVE_INFINITY,
      usualRatio: 1,
      forecast,
    };
  const believed = judged < FITTED_POINTS ? FORECASTS : [forecast];
  const level = levelNow(points);
  const soon = Math.max(
    level.perSecond,
    surgeRatio > 1 ? surgeRatio * last.perSecond : 0,
    ...believed.map((kind) => served(kind, points, horizonMs)),
  );
  const foreseen = usesSeasons ? seasonAhead({ foresight }, { horizonMs, holdMs }).foreseen : undefined;
  const perSecond = Math.max(soon, foreseen?.perSecond ?? highestLevel(points, holdMs, 2).perSecond);
  const [ratio, levelRatio] = [perSecond / last.perSecond, perSecond / level.perSecond];
  const mostRatio = Math.max(ratio, Math.max(peakPerSecond, foreseen?.mostPerSecond ?? 0) / last.perSecond);
  const usualRatio = median(points.map((point) => point.perSecond)) / last.perSecond;
  const ratios = { ratio, levelRatio, mostRatio, usualRatio };
  return foreseen === undefined
    ? { ...ratios, sigma, forecast }
    : { ...ratios, sigma: foreseen.sigma, forecast: "season" };
}
