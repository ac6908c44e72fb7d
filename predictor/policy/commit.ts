import type { DecisionContext, Observation } from "./observation.ts";
import type { Standing } from "./standing.ts";
import type { PlannerMemory, PlannerRung } from "./state.ts";

/** Measured tails kept to judge calm by. */
const RECENT_WINDOWS = 8;

/**
 * Commit (Grad §V): what was measured after the last plan. A rung whose plans against a miss have been carried out
 * and yet miss the objective several windows in a row is not believed for a while, twice as long each time; long calm forgives.
 */
export function commit(
  { settings, state, windowSet }: DecisionContext,
  observations: readonly Observation[],
  standing: Standing,
  severity: number | undefined,
): PlannerMemory {
  const { planner } = settings;
  const before = state.planner;
  const recent = [...(before?.recentSeverities ?? []), ...(severity === undefined ? [] : [severity])];
  const recentSeverities = recent.slice(-RECENT_WINDOWS);
  const isForgiven =
    before?.distrust !== undefined &&
    before.distrust.untilMs <= windowSet.endMs &&
    standing.course.calmWindows >= standing.patience;
  const distrust = isForgiven ? undefined : before?.distrust;
  const learnt = before?.flowCorrections && { flowCorrections: before.flowCorrections };
  const kept = { recentSeverities, ...learnt, ...(distrust && { distrust }) };
  if (before?.rung === undefined || !standing.missed) return { ...kept, missedInSpite: 0 };
  const isInSpite = before.cures === true && isCarriedOut(observations);
  const missedInSpite = before.missedInSpite + (isInSpite ? 1 : 0);
  if (missedInSpite < planner.missesBeforeDistrust) return { ...kept, missedInSpite };
  const times = Math.min((distrust?.times ?? 0) + 1, planner.distrustDoublings + 1);
  const pauseMs = planner.distrustWindows * 2 ** (times - 1) * (windowSet.endMs - windowSet.startMs);
  return {
    recentSeverities,
    ...learnt,
    missedInSpite: 0,
    distrust: { rung: before.rung, untilMs: windowSet.endMs + pauseMs, times },
  };
}

/** Everything that was wished runs, and no queue of the past is being worked off. */
function isCarriedOut(observations: readonly Observation[]): boolean {
  return !observations.some(({ settling, resizing, draining }) => settling || resizing || draining);
}

/** Rungs not believed now: when plans by priors failed trained profiles are not tried either. */
export function distrustedRungs({ distrust }: PlannerMemory, windowEndMs: number): ReadonlySet<PlannerRung> {
  if (distrust === undefined || distrust.untilMs <= windowEndMs) return new Set();
  return new Set(distrust.rung === "planner" ? ["planner"] : ["planner-prior", "planner"]);
}
