import type { PolicyName } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { PolicyChoice } from "@tradewind/core/contract/policy-choice.ts";
import type { Sensitivities } from "./cost/price/sensitivities.ts";
import type { WhatIf } from "./cost/price/what-if.ts";
import type { CostWindow } from "./cost/learn/cost-window.ts";
import type { CostMemory } from "./cost/learn/state.ts";
import type { Facts } from "./window-facts.ts";
import type { Course } from "./facts/state.ts";
import type { Targets } from "./facts/target.ts";

/** What a level decides, or why it cannot. */
export interface LevelOutcome {
  readonly reasons: readonly Reason[];
  /** Absent where the level cannot decide on this window: then the next one below is asked. */
  readonly decision?: LevelDecision;
  /** The models' memory with the decision noted; absent: as learnt from the window. */
  readonly memory?: CostMemory;
}

/** What the models have learnt, once for all levels. */
export interface LearntModels {
  readonly window: CostWindow;
  readonly memory: CostMemory;
}

export interface LevelDecision {
  readonly policy: PolicyName;
  readonly targets: Targets;
  /** Absent where the level judges neither calm nor growth. */
  readonly course?: Course;
  /** What one more unit of each service is worth; absent where no live models decided. */
  readonly sensitivities?: Sensitivities | undefined;
  /** The models at the sizes that the decision started from; absent like the sensitivities. */
  readonly whatIf?: WhatIf | undefined;
}

/** One level of the ladder. */
export interface Level {
  /** The operator's choices under which it takes part. */
  readonly choices: readonly PolicyChoice[];
  decide(facts: Facts, learned: LearntModels | undefined): LevelOutcome;
}
