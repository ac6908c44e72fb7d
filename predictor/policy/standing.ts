import type { DecisionContext } from "./observation.ts";
import type { Course } from "./remember.ts";
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
  /** Calm windows before something may be taken back. */
  readonly patience: number;
  /** The course if the decision changes nothing. */
  readonly course: Course;
}

/** @param arrivalRatio requests that arrive over those that were answered, at least 1 */
export function standingOf(context: DecisionContext, verdict: Verdict, arrivalRatio = 1): Standing {
  const { application, settings, state, windowSet } = context;
  const severity = verdict.severity ?? 0;
  const missed = severity > 1;
  const missedWindows = missed ? state.missedWindows + 1 : 0;
  const calm = isCalm(verdict, settings);
  const patienceDoublings = doublingsAfter(context, arrivalRatio * verdict.requestsPerSecond, missed);
  return {
    words: describeVerdict(verdict, settings.minimumCalls),
    missed,
    clearlyMissed: missed && (severity >= settings.clearMissRatio || missedWindows >= 2),
    calm,
    patience: patienceWindows(application, windowSet, settings, patienceDoublings),
    course: {
      calmWindows: calm ? state.calmWindows + 1 : 0,
      missedWindows,
      patienceDoublings,
      ...(!missed && shrunkBefore(state)),
      ...(state.growth && !calm && { growth: state.growth }),
      ...(state.futile && !calm && { futile: state.futile }),
    },
  };
}

function shrunkBefore({
  shrunkAtMs,
  shrunkAtRequestsPerSecond: rate,
}: PolicyState): Pick<Course, "shrunkAtMs" | "shrunkAtRequestsPerSecond"> {
  if (shrunkAtMs === undefined) return {};
  return { shrunkAtMs, ...(rate !== undefined && { shrunkAtRequestsPerSecond: rate }) };
}

/** The course after something was taken back: the next step waits until this one has settled. */
export function courseAfterShrinking(context: DecisionContext, { course, patience }: Standing): Course {
  return {
    ...course,
    calmWindows: Math.max(0, patience - context.settings.settleWindows),
    patienceDoublings: easedDoublings(context, course.patienceDoublings),
    shrunkAtMs: context.windowSet.endMs,
  };
}

/** More requests than before by this factor, and not the step down, explain a miss. */
const SURGE_RATIO = 1.15;

/** A miss soon after a step down was caused by it: the next step down waits twice as long. */
function doublingsAfter(
  { settings, state, windowSet }: DecisionContext,
  requestsPerSecond: number,
  missed: boolean,
): number {
  const { shrunkAtMs, shrunkAtRequestsPerSecond, patienceDoublings } = state;
  if (requestsPerSecond > SURGE_RATIO * (shrunkAtRequestsPerSecond ?? Number.POSITIVE_INFINITY)) {
    return patienceDoublings;
  }
  const windowMs = windowSet.endMs - windowSet.startMs;
  const regretted =
    missed && shrunkAtMs !== undefined && windowSet.endMs - shrunkAtMs <= settings.regretWindows * windowMs;
  return regretted ? Math.min(patienceDoublings + 1, settings.patienceDoublings) : patienceDoublings;
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
