import type { DecisionContext, Observation } from "./observation.ts";
import type { Course } from "./remember.ts";
import type { PolicySettings } from "./settings.ts";
import { isCalm, patienceWindows } from "./shrink.ts";
import { percent } from "./target.ts";
import type { PolicyState } from "./state.ts";
import type { Verdict } from "./verdict.ts";

/** How the application stands to its objective, and what that makes of calm, misses and patience. */
export interface Standing {
  /** In words. */
  readonly words: string;
  /** Enough requests say that the objective is missed. */
  readonly missed: boolean;
  /** Missed so clearly, or so often in a row, that growth need not wait. */
  readonly clearlyMissed: boolean;
  readonly calm: boolean;
  /** Load of the next window over that of this one, should it go on rising as it did, in [1, 2); 1 unless it rose beyond chance. */
  readonly rise: number;
  /** Calm windows before something may be taken back. */
  readonly patience: number;
  /** The course if the decision changes nothing. */
  readonly course: Course;
}

/** How a rung looks at a window. */
export interface Look {
  /** Requests that arrive over those that were answered, at least 1. */
  readonly arrivalRatio: number;
  /** Tail over objective up to which a window is calm. */
  readonly calmRatio: number;
  /** Tail over objective up to which a window that is not calm does not end the calm before it, though it does not add to it. */
  readonly keepsCalmRatio: number;
}

export function standingOf(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  { arrivalRatio, calmRatio, keepsCalmRatio }: Look,
): Standing {
  const { application, settings, state, windowSet } = context;
  const severity = verdict.severity ?? 0;
  const arrivals = arrivalRatio * verdict.requestsPerSecond;
  const missed = severity > 1;
  const missedWindows = missed ? state.missedWindows + 1 : 0;
  const rise = riseOf(context, arrivals);
  const clearlyMissed = missed && (severity >= settings.clearMissRatio || missedWindows >= 2 || rise > 1);
  const calm = isCalm(verdict, settings, calmRatio);
  const keepsCalm = isCalm(verdict, settings, keepsCalmRatio);
  const patienceDoublings =
    clearlyMissed && isRegretted(context, observations, arrivals)
      ? Math.min(state.patienceDoublings + 1, settings.patienceDoublings)
      : rise > 1 || hasFallen(context, arrivals)
        ? 0
        : state.patienceDoublings;
  return {
    words: describeVerdict(verdict, settings.minimumCalls),
    missed,
    clearlyMissed,
    rise,
    calm,
    patience: patienceWindows(application, windowSet, settings, patienceDoublings),
    course: {
      calmWindows: calm ? state.calmWindows + 1 : keepsCalm ? state.calmWindows : 0,
      missedWindows,
      patienceDoublings,
      requestsPerSecond: arrivals,
      ...(!clearlyMissed && shrunkBefore(state)),
      ...(state.growth && !calm && { growth: state.growth }),
      ...(state.futile && !calm && { futile: state.futile }),
    },
  };
}

/** More requests than before by this factor explain a miss. */
const SURGE_RATIO = 1.15;

/** Standard deviations of a Poisson count that more requests must exceed to be no chance. */
const NO_CHANCE = 2;

function riseOf({ state, windowSet }: DecisionContext, arrivalsPerSecond: number): number {
  const before = state.requestsPerSecond;
  if (before === undefined || !isMore(arrivalsPerSecond, before, windowSet)) return 1;
  return 2 - before / arrivalsPerSecond;
}

function hasFallen({ state, windowSet }: DecisionContext, arrivalsPerSecond: number): boolean {
  const before = state.requestsPerSecond;
  return before !== undefined && isMore(before, arrivalsPerSecond, windowSet);
}

/** One rate of a window is higher than another, noticeably and beyond chance. */
function isMore(high: number, low: number, { endMs, startMs }: DecisionContext["windowSet"]): boolean {
  const seconds = (endMs - startMs) / 1e3;
  if (!(seconds > 0) || high <= SURGE_RATIO * low) return false;
  return (high - low) * seconds > NO_CHANCE * Math.sqrt((high + low) * seconds);
}

type Shrunk = Pick<Course, "shrunkAtMs" | "shrunkAtRequestsPerSecond" | "shrunkServices">;

function shrunkBefore({ shrunkAtMs, shrunkAtRequestsPerSecond: rate, shrunkServices }: PolicyState): Shrunk {
  if (shrunkAtMs === undefined) return {};
  return {
    shrunkAtMs,
    ...(rate !== undefined && { shrunkAtRequestsPerSecond: rate }),
    ...(shrunkServices && { shrunkServices }),
  };
}

/** The course after something was taken back: the next step waits until this one has settled. */
export function courseAfterShrinking(
  context: DecisionContext,
  { course, patience }: Standing,
  shrunkServices: readonly string[],
): Course {
  return {
    ...course,
    calmWindows: Math.max(0, patience - context.settings.settleWindows),
    patienceDoublings: easedDoublings(context, course.patienceDoublings),
    shrunkAtMs: context.windowSet.endMs,
    ...(course.requestsPerSecond !== undefined && { shrunkAtRequestsPerSecond: course.requestsPerSecond }),
    shrunkServices,
  };
}

/**
 * A clear miss soon after a step down was caused by it, and the next step down waits twice as long; unless more requests
 * explain the miss, or all that something was taken from are at ease.
 */
function isRegretted(
  { settings, state, windowSet }: DecisionContext,
  observations: readonly Observation[],
  arrivalsPerSecond: number,
): boolean {
  const { shrunkAtMs, shrunkAtRequestsPerSecond, shrunkServices } = state;
  const windowMs = windowSet.endMs - windowSet.startMs;
  if (shrunkAtMs === undefined || windowSet.endMs - shrunkAtMs > settings.regretWindows * windowMs)
    return false;
  if (arrivalsPerSecond > SURGE_RATIO * (shrunkAtRequestsPerSecond ?? Number.POSITIVE_INFINITY)) return false;
  const shrunk = new Set(shrunkServices);
  return observations.some(
    (one) => (shrunkServices === undefined || shrunk.has(one.service)) && !isAtEase(one, settings),
  );
}

/** Known to have CPU to spare, and to queue nothing: what is slow is elsewhere. */
function isAtEase(
  { demand, queue, readyReplicas, utilisation }: Observation,
  settings: PolicySettings,
): boolean {
  const ownRequests = queue?.ownRequests;
  if (demand === undefined || utilisation === undefined || ownRequests === undefined) return false;
  return (
    utilisation < settings.shrinkUtilisation &&
    demand.throttledRatio <= settings.planner.throttledRatioLimit &&
    ownRequests < settings.idleOwnRequests * Math.max(1, readyReplicas ?? 1)
  );
}

/** A step down that stood the test halves the patience again. */
function easedDoublings({ settings, state, windowSet }: DecisionContext, doublings: number): number {
  const windowMs = windowSet.endMs - windowSet.startMs;
  const stood =
    state.shrunkAtMs !== undefined && windowSet.endMs - state.shrunkAtMs > settings.regretWindows * windowMs;
  return stood ? Math.max(0, doublings - 1) : doublings;
}

function describeVerdict(verdict: Verdict, minimumCalls: number): string {
  if (verdict.severity === undefined) {
    return `fewer than ${minimumCalls} requests of any flow, the slowest at ${percent(verdict.worstSeverity ?? 0)} of the objective`;
  }
  const missed = verdict.severity > 1 ? "the objective is missed" : "the objective is met";
  return `${missed} (tail at ${percent(verdict.severity)} of it)`;
}
