import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { DecisionContext, Observation } from "../facts/observation.ts";
import type { Verdict } from "../facts/verdict.ts";
import { trafficReasons } from "../facts/reasons.ts";
import type { Course } from "../facts/state.ts";
import { hasFallen, hasRisen } from "./load-change.ts";
import { isCausedByShrinking, shrunkBefore } from "./after-shrinking.ts";
import { standing } from "./standing.ts";

/** How the application stands to its objective, and what follows for growing and shrinking. */
export interface ObjectiveStatus {
  readonly summary: readonly Reason[];
  /** Enough requests say that the objective is missed. */
  readonly missed: boolean;
  /** Missed so clearly, or so often in a row, that growth need not wait. */
  readonly clearlyMissed: boolean;
  readonly calm: boolean;
  /** Calm windows in a row before pods may be taken away. */
  readonly calmWindowsNeeded: number;
  /** The course if the decision changes nothing. */
  readonly course: Course;
}

export function objectiveStatus(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
): ObjectiveStatus {
  const { missing, settings, state } = context;
  const severity = verdict.severity ?? 0;
  const arrivals = verdict.requestsPerSecond;
  const missed = severity > 1;
  const missedWindows = missed ? state.missedWindows + 1 : 0;
  const isRising = hasRisen(context, arrivals);
  const clearlyMissed = missed && (severity >= settings.clearMissRatio || missedWindows >= 2 || isRising);
  const calmWindows = calmWindowsOf(context, verdict, clearlyMissed);
  const calm = calmWindows > state.calmWindows;
  const isCaused = clearlyMissed && isCausedByShrinking(context, observations, arrivals);
  const patienceDoublings = doublingsAfter(context, {
    isCaused,
    hasChanged: isRising || hasFallen(context, arrivals),
  });
  return {
    summary: [standing(context, verdict), ...trafficReasons(missing)],
    missed,
    clearlyMissed,
    calm,
    calmWindowsNeeded: calmWindowsBefore(context, patienceDoublings),
    course: {
      calmWindows,
      missedWindows,
      patienceDoublings,
      ...arrivalsToCompare(context, arrivals),
      ...((!clearlyMissed || missing !== undefined) && shrunkBefore(state)),
      ...(state.growth && !calm && { growth: state.growth }),
      ...(state.futile && !calm && { futile: state.futile }),
    },
  };
}

/** Calm windows in a row: one more after a calm one, as many as before after one of which a part is missing, none after any other. */
function calmWindowsOf(
  { missing, settings, state }: DecisionContext,
  verdict: Verdict,
  clearlyMissed: boolean,
): number {
  const isWhole = missing === undefined;
  const answers = verdict.worstSeverity !== undefined && verdict.errorRatio < settings.errorRatioLimit;
  if (!answers) return 0;
  if (isWhole && (verdict.worstSeverity ?? 0) <= settings.calmRatio) return state.calmWindows + 1;
  return !isWhole && !clearlyMissed ? state.calmWindows : 0;
}

interface Since {
  /** The last step down had to be undone. */
  readonly isCaused: boolean;
  /** Load has risen or fallen beyond chance. */
  readonly hasChanged: boolean;
}

function doublingsAfter({ settings, state }: DecisionContext, { isCaused, hasChanged }: Since): number {
  if (isCaused) return Math.min(state.patienceDoublings + 1, settings.patienceDoublings);
  return hasChanged ? 0 : state.patienceDoublings;
}

/** Calm windows that a first step down waits for: at least the interval over which the objective is judged. */
function calmWindowsBefore({ application, settings, windowSet }: DecisionContext, doublings: number): number {
  const windowSeconds = (windowSet.endMs - windowSet.startMs) / 1e3;
  const judged = windowSeconds > 0 ? Math.ceil(application.objective.windowSeconds / windowSeconds) : 1;
  return Math.max(settings.patienceWindows, judged) * 2 ** doublings;
}

/** Arrivals that the next window is compared with: those of the last one that was seen whole. */
function arrivalsToCompare(
  { missing, state }: DecisionContext,
  arrivals: number,
): Pick<Course, "requestsPerSecond"> {
  if (missing === undefined) return { requestsPerSecond: arrivals };
  return state.requestsPerSecond === undefined ? {} : { requestsPerSecond: state.requestsPerSecond };
}
