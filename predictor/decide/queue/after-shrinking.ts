import { weightedMean } from "../../window/weighted-mean.ts";
import { SURGE_RATIO } from "./load-change.ts";
import type { DecisionContext, Observation } from "../facts/observation.ts";
import type { Course } from "../facts/state.ts";
import type { PolicySettings } from "../facts/settings.ts";
import type { RememberedState } from "../facts/state.ts";

/** Rise of CPU interference, in [0, 1], that explains a miss. */
const BUSIER = 0.2;

/** Throttled share of periods up to which a service is at ease. */
const AT_EASE_THROTTLED_RATIO = 0.2;

type ShrinkNote = Pick<
  Course,
  "shrunkAtMs" | "shrunkAtRequestsPerSecond" | "shrunkAtInterference" | "shrunkServices"
>;

/** What is remembered of the last step down. */
export function shrunkBefore({
  shrunkAtMs,
  shrunkAtRequestsPerSecond: rate,
  shrunkAtInterference: interference,
  shrunkServices,
}: RememberedState): ShrinkNote {
  if (shrunkAtMs === undefined) return {};
  return {
    shrunkAtMs,
    ...(rate !== undefined && { shrunkAtRequestsPerSecond: rate }),
    ...(interference !== undefined && { shrunkAtInterference: interference }),
    ...(shrunkServices && { shrunkServices }),
  };
}

/** The course after something was taken back: the next step waits until this one has settled. */
export function courseAfterShrinking(
  context: DecisionContext,
  observations: readonly Observation[],
  { calmWindowsNeeded, course }: { readonly calmWindowsNeeded: number; readonly course: Course },
  shrunkServices: readonly string[],
): Course {
  const interference = cpuInterference(observations);
  return {
    ...course,
    calmWindows: Math.max(0, calmWindowsNeeded - context.settings.settleWindows),
    patienceDoublings: easedDoublings(context, course.patienceDoublings),
    shrunkAtMs: context.windowSet.endMs,
    ...(course.requestsPerSecond !== undefined && { shrunkAtRequestsPerSecond: course.requestsPerSecond }),
    ...(interference !== undefined && { shrunkAtInterference: interference }),
    shrunkServices,
  };
}

/**
 * A clear miss soon after a step down was caused by it, and the next step down waits twice as long; unless more requests
 * or busier nodes explain the miss, or may do since a part of them was not seen, or all that something was taken from are at ease.
 */
export function isCausedByShrinking(
  { missing, settings, state, windowSet }: DecisionContext,
  observations: readonly Observation[],
  arrivalsPerSecond: number,
): boolean {
  if (missing !== undefined) return false;
  const { shrunkAtMs, shrunkAtRequestsPerSecond, shrunkServices } = state;
  const windowMs = windowSet.endMs - windowSet.startMs;
  if (shrunkAtMs === undefined || windowSet.endMs - shrunkAtMs > settings.regretWindows * windowMs)
    return false;
  if (arrivalsPerSecond > SURGE_RATIO * (shrunkAtRequestsPerSecond ?? Number.POSITIVE_INFINITY)) return false;
  if ((cpuInterference(observations) ?? 0) > (state.shrunkAtInterference ?? 1) + BUSIER) return false;
  const shrunk = new Set(shrunkServices);
  return observations.some(
    (one) => (shrunkServices === undefined || shrunk.has(one.service)) && !isAtEase(one, settings),
  );
}

/** Mean over all containers whose nodes tell, in [0, 1]; undefined where none does. */
function cpuInterference(observations: readonly Observation[]): number | undefined {
  return weightedMean(
    observations.flatMap(({ window }) => window?.containers ?? []),
    ({ interference }) => interference?.cpu.value,
    () => 1,
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
    demand.throttledRatio <= AT_EASE_THROTTLED_RATIO &&
    ownRequests < settings.idleOwnRequests * Math.max(1, readyReplicas ?? 1)
  );
}

/** A step down after which the objective held halves the wait for the next one again. */
function easedDoublings({ settings, state, windowSet }: DecisionContext, doublings: number): number {
  const windowMs = windowSet.endMs - windowSet.startMs;
  const stood =
    state.shrunkAtMs !== undefined && windowSet.endMs - state.shrunkAtMs > settings.regretWindows * windowMs;
  return stood ? Math.max(0, doublings - 1) : doublings;
}
