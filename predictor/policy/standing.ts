import { hasFallen, riseOf } from "./observe/load-change.ts";
import type { DecisionContext, Observation } from "./observe/observation.ts";
import { tellingSeverity } from "./observe/verdict.ts";
import type { Verdict } from "./observe/verdict.ts";
import { isRegretted, shrunkBefore } from "./regret.ts";
import type { Course } from "./remember.ts";
import { percent } from "./target.ts";

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
  /** Load since the window over that in it, where the window is decided on once more to give what that takes, and nothing else. */
  readonly surgeRatio: number | undefined;
  /** Calm windows before something may be taken back. */
  readonly patience: number;
  /** The course if the decision changes nothing. */
  readonly course: Course;
}

/** How a rung looks at a window. */
export interface Look {
  /** Requests that arrive over those that were answered. */
  readonly arrivalRatio: number;
  /** See {@link Standing}. */
  readonly surgeRatio?: number | undefined;
  /** Tail over objective up to which a window is calm. */
  readonly calmRatio: number;
  /**
   * True where each flow has a limit of its own when something is taken back. Then calm is a matter of the flows with enough
   * calls to tell, and a window that is neither calm nor a clear miss does not end the calm before it, though it does not
   * add to it.
   */
  readonly limitsFlows: boolean;
}

export function standingOf(
  context: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
  { arrivalRatio, calmRatio, limitsFlows, surgeRatio }: Look,
): Standing {
  const { missing, settings, state } = context;
  const severity = verdict.severity ?? 0;
  const arrivals = arrivalRatio * verdict.requestsPerSecond;
  const missed = severity > 1;
  const missedWindows = missed ? state.missedWindows + 1 : 0;
  const rise = riseOf(context, arrivals);
  const clearlyMissed = missed && (severity >= settings.clearMissRatio || missedWindows >= 2 || rise > 1);
  const calmWindows = calmWindowsOf(context, verdict, { calmRatio, clearlyMissed, limitsFlows });
  const calm = calmWindows > state.calmWindows;
  const isRegret = clearlyMissed && isRegretted(context, observations, arrivals);
  const patienceDoublings = doublingsAfter(context, {
    isRegret,
    hasChanged: rise > 1 || hasFallen(context, arrivals),
  });
  return {
    words: `${describeVerdict(verdict, settings.minimumCalls)}${describeSurge(surgeRatio)}${describeMissing(missing)}`,
    missed,
    clearlyMissed,
    rise,
    surgeRatio,
    calm,
    patience: patienceWindows(context, patienceDoublings),
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

/** Calm windows in a row: one more after a calm one, as many as before after one that proves nothing, none after any other. */
function calmWindowsOf(
  { missing, settings, state }: DecisionContext,
  verdict: Verdict,
  {
    calmRatio,
    clearlyMissed,
    limitsFlows,
  }: Pick<Look, "calmRatio" | "limitsFlows"> & {
    readonly clearlyMissed: boolean;
  },
): number {
  const isWhole = missing === undefined;
  const answers = verdict.worstSeverity !== undefined && verdict.errorRatio < settings.errorRatioLimit;
  if (!answers) return 0;
  if (isWhole && (calmSeverity(verdict, limitsFlows) ?? 0) <= calmRatio) return state.calmWindows + 1;
  return (limitsFlows || !isWhole) && !clearlyMissed ? state.calmWindows : 0;
}

interface Since {
  /** The last step down had to be undone. */
  readonly isRegret: boolean;
  /** Load has risen or fallen beyond chance. */
  readonly hasChanged: boolean;
}

function doublingsAfter({ settings, state }: DecisionContext, { isRegret, hasChanged }: Since): number {
  if (isRegret) return Math.min(state.patienceDoublings + 1, settings.patienceDoublings);
  return hasChanged ? 0 : state.patienceDoublings;
}

function calmSeverity(verdict: Verdict, limitsFlows: boolean): number | undefined {
  return limitsFlows ? tellingSeverity(verdict) : verdict.worstSeverity;
}

/** Calm windows that a first step down waits for: at least the interval over which the objective is judged. */
function patienceWindows({ application, settings, windowSet }: DecisionContext, doublings: number): number {
  const windowSeconds = (windowSet.endMs - windowSet.startMs) / 1e3;
  const judged = windowSeconds > 0 ? Math.ceil(application.objective.windowSeconds / windowSeconds) : 1;
  return Math.max(settings.patienceWindows, judged) * 2 ** doublings;
}

function describeVerdict(verdict: Verdict, minimumCalls: number): string {
  if (verdict.severity === undefined) {
    return `fewer than ${minimumCalls} requests of any flow, the slowest at ${percent(verdict.worstSeverity ?? 0)} of the objective`;
  }
  const missed = verdict.severity > 1 ? "the objective is missed" : "the objective is met";
  return `${missed} (tail at ${percent(verdict.severity)} of it)`;
}

/** Arrivals that the next window is compared with: those of the last one that was seen whole. */
function arrivalsToCompare(
  { missing, state }: DecisionContext,
  arrivals: number,
): Pick<Course, "requestsPerSecond"> {
  if (missing === undefined) return { requestsPerSecond: arrivals };
  return state.requestsPerSecond === undefined ? {} : { requestsPerSecond: state.requestsPerSecond };
}

function describeMissing(missing: string | undefined): string {
  return missing === undefined ? "" : `, but ${missing}`;
}

function describeSurge(surgeRatio: number | undefined): string {
  return surgeRatio === undefined
    ? ""
    : `, and requests have begun ${surgeRatio.toFixed(1)} times as fast since`;
}
