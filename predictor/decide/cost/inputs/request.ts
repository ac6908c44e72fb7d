import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { DecisionContext, Observation } from "../../facts/observation.ts";
import type { Verdict } from "../../facts/verdict.ts";
import type { Targets } from "../../facts/target.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import type { LoadOutlook } from "../learn/outlook.ts";
import type { CostLevel, Residuals } from "./residuals.ts";
import type { ClassLogs, ClassMix } from "../../../nodes/class-mix.ts";
import type { Sensitivities } from "../price/sensitivities.ts";
import type { WhatIf } from "../price/what-if.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import type { CostMemory, ServiceModelMemory } from "../learn/state.ts";

/** One window, and what was known before it. */
export interface CostRequest {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  readonly settings: CostSettings;
  /** Absent before the first window. */
  readonly memory: CostMemory | undefined;
  /** See `PolicyInputs`. */
  readonly surgeRatio: number | undefined;
  /** What the largest node has room for; absent where the nodes are not known. */
  readonly largestContainer?: { readonly cpuCores: number } | undefined;
  /** What pods of the application have of the nodes and may have more. */
  readonly allNodes?: { readonly cpuCores: number } | undefined;
  /** CPU of the next node that an autoscaler can add, cores. */
  readonly comingCores?: number | undefined;
  /** What pods leave of each node. */
  readonly nodes?: readonly NodeLeft[] | undefined;
  /** CPU that is left of nodes that take pods, cores by node class; absent where all nodes are of one class. */
  readonly roomByNodeClass?: Readonly<Record<string, number>> | undefined;
  /** Trained residuals that are in use, by service. */
  readonly residuals?: Residuals;
}

/** What a window has taught. */
export interface Known {
  readonly models: ReadonlyMap<string, ServiceModelMemory>;
  readonly memory: CostMemory;
  /** Requests per second that arrive at each service. */
  readonly loads: ReadonlyMap<string, number>;
  readonly outlook: LoadOutlook;
  /** Median of the warm-up factors of the services of which one is known: what is expected of the others. */
  readonly warmUpFactor: number | undefined;
  /** Services that requests of users pass. */
  readonly onRoute: ReadonlySet<string>;
  /** Services behind one that fails more requests than may be late: those requests will reach them once they do not fail. */
  readonly awaited: ReadonlySet<string>;
  /** Services of which nothing is taken. */
  readonly toKeep: ReadonlySet<string>;
  /** CPU of all containers that measured misses ask for, cores by service, see {@link growthAtLimit}. */
  readonly grownCores: ReadonlyMap<string, number>;
  readonly residuals: Residuals;
  /** What node classes cost a request, and the CPU that nodes of each have left, cores. Both empty where they are all equally fast. */
  readonly classLogs: ClassLogs;
  readonly classRooms: ClassMix;
  /** `planner` where trained residuals take part in all that takes a measurable share of the time. */
  readonly level: CostLevel;
}

export interface CostDecision {
  readonly memory: CostMemory;
  /** Undefined while a service on a route has no calibrated model: then another level decides. */
  readonly targets: Targets | undefined;
  readonly level: CostLevel;
  /** What one more unit of each service is worth; absent like the targets. */
  readonly sensitivities?: Sensitivities;
  /** The models at the sizes that the decision started from; absent like the targets. */
  readonly whatIf?: WhatIf;
  readonly reasons: readonly Reason[];
}
