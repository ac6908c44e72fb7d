import { isCarriedOut } from "./facts/container-size.ts";
import type { DecisionContext } from "./facts/observation.ts";
import type { Course } from "./facts/state.ts";

/**
 * The course after a decision. Where a decision changes nothing that runs, neither growth nor a step down has an effect to be
 * judged.
 * @param decided absent where the level judges neither calm nor growth
 */
export function courseOf(
  decided: Course | undefined,
  { application, state, windowSet }: DecisionContext,
): Course {
  const course = decided ?? unchanged(state);
  if (isCarriedOut(application)) return course;
  const { calmWindows, missedWindows, requestsPerSecond, shrunkAtMs } = course;
  const isStepDown = shrunkAtMs === windowSet.endMs;
  return {
    calmWindows: isStepDown ? state.calmWindows + 1 : calmWindows,
    missedWindows,
    patienceDoublings: state.patienceDoublings,
    ...(requestsPerSecond !== undefined && { requestsPerSecond }),
  };
}

function unchanged({ futile, growth, patienceDoublings }: DecisionContext["state"]): Course {
  return {
    calmWindows: 0,
    missedWindows: 0,
    patienceDoublings,
    ...(growth && { growth }),
    ...(futile && { futile }),
  };
}
