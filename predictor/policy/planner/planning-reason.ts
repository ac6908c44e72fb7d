import type { ApplicationPlan } from "../../plan/application-plan.ts";
import type { Balancing } from "../balance/queue-balancing.ts";
import { isCrowdedOut } from "../observe/bottleneck.ts";
import type { Standing } from "../standing.ts";
import { percent } from "../target.ts";
import type { Preparation } from "./preparation.ts";

/** What was made of a window. */
export interface Made {
  readonly plan: ApplicationPlan | undefined;
  readonly growth: Balancing | undefined;
  readonly raised: boolean;
  readonly mayTakeBack: boolean;
}

/** In words, for the plan. */
export function reasonOf(preparation: Preparation, made: Made): string {
  const { context, observations, ready, residuals, standing } = preparation;
  const waiting = standing.clearlyMissed
    ? observations.filter((one) => isCrowdedOut(one, context.settings, preparation)).length
    : 0;
  const crowded =
    waiting === 0
      ? ""
      : `; ${waiting} ${waiting === 1 ? "service waits" : "services wait"} for CPU that others take on the only node`;
  const outcome = outcomeOf(standing, made, context.application.objective.milliseconds / 1e3);
  const growth =
    made.growth === undefined ? "" : `; by queues: ${made.growth.reason.split(": ").at(-1) ?? ""}`;
  const learnt =
    residuals.length === 0
      ? ""
      : `; ${residuals.length} ${residuals.length === 1 ? "flow has" : "flows have"} a learnt tail`;
  return `${standing.words}: ${outcome}${growth}${crowded}; ${ready.reason}${learnt}`;
}

function outcomeOf(
  standing: Standing,
  { plan, raised, mayTakeBack }: Made,
  objectiveSeconds: number,
): string {
  if (plan === undefined) {
    return standing.missed && !standing.clearlyMissed
      ? "a slight miss: waits for a second window"
      : "too few requests to plan with";
  }
  const count = `${plan.steps.length} ${plan.steps.length === 1 ? "step" : "steps"}`;
  const after = `tail predicted at ${percent(plan.tailAfterSeconds / objectiveSeconds)}`;
  const reach = plan.feasible ? after : `out of reach within the bounds, best ${after}`;
  const need = raised ? "gives what CPU demand needs, " : "";
  if (plan.steps[0]?.direction === "up") return `${need}gives ${count}, ${reach}`;
  if (plan.steps[0]?.direction === "down") return `takes back ${count}, ${reach}`;
  if (plan.gives && !plan.feasible) return `${need}nothing more helps: ${reach}`;
  if (raised) return `gives what CPU demand needs, ${after}`;
  if (standing.missed || mayTakeBack) return `keeps all sizes, ${after}`;
  return `calm for ${standing.course.calmWindows} of ${standing.patience} windows, ${after}`;
}
