import type { DecisionContext, Observation } from "../observe/observation.ts";
import type { Standing } from "../standing.ts";
import type { PlannerMemory, PlannerRung } from "../state.ts";
import { RECENT_WINDOWS } from "./planner-settings.ts";

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
  const recentSeverities = recent(before, severity);
  const isForgiven =
    before?.distrust !== undefined &&
    before.distrust.untilMs <= windowSet.endMs &&
    standing.course.calmWindows >= standing.patience;
  const distrust = isForgiven ? undefined : before?.distrust;
  const learnt = before?.flowCorrections && { flowCorrections: before.flowCorrections };
  const kept = { recentSeverities, ...learnt, ...(distrust && { distrust }) };
  if (before?.rung === undefined || !standing.missed) return { ...kept, missedInSpite: 0 };
  const goesOn = isCarriedOut(observations) && !isEnding(recentSeverities);
  const missedInSpite = before.missedInSpite + (goesOn && before.cures === true ? 1 : 0);
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

function recent(before: PlannerMemory | undefined, severity: number | undefined): number[] {
  return [...(before?.recentSeverities ?? []), ...(severity === undefined ? [] : [severity])].slice(
    -RECENT_WINDOWS,
  );
}

/** Tail over objective from which a miss goes on, however fast it may be falling. */
const FAR_FROM_OVER = 2;

/** Share of what the last window was over the objective that a miss which is ending may still be over it. */
const ENDING_SHARE = 0.5;

/** What was given is at work: the miss is slight beside that of the window before. */
export function isEnding(recentSeverities: readonly number[]): boolean {
  const [before, now] = [recentSeverities.at(-2), recentSeverities.at(-1)];
  if (before === undefined || now === undefined) return false;
  return now < FAR_FROM_OVER && now - 1 <= ENDING_SHARE * (before - 1);
}

/** Everything that was wished ran for the whole window, and no queue of the past is being worked off. */
function isCarriedOut(observations: readonly Observation[]): boolean {
  return !observations.some(
    ({ settling, resizing, enlarged, draining }) => settling || resizing || enlarged || draining,
  );
}

/** Rungs not believed now: when plans by priors failed trained profiles are not tried either. */
export function distrustedRungs({ distrust }: PlannerMemory, windowEndMs: number): ReadonlySet<PlannerRung> {
  if (distrust === undefined || distrust.untilMs <= windowEndMs) return new Set();
  return new Set(distrust.rung === "planner" ? ["planner"] : ["planner-prior", "planner"]);
}
