import type { Nodes } from "../observe/bottleneck.ts";
import type { DecisionContext, Observation } from "../observe/observation.ts";
import type { Verdict } from "../observe/verdict.ts";
import type { Standing } from "../standing.ts";
import type { PlannerMemory } from "../state.ts";
import type { UsableResidual } from "./flow-residuals.ts";
import type { Readiness } from "./readiness.ts";

/** What a plan is prepared from: one window, how the application stands in it, and what is known of its services. */
export interface Preparation extends Nodes {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  readonly standing: Standing;
  /** Arrivals over answers of the whole application; undefined where arrivals were not counted. */
  readonly countedRatio: number | undefined;
  readonly ready: Readiness;
  readonly memory: PlannerMemory;
  readonly residuals: readonly UsableResidual[];
}
