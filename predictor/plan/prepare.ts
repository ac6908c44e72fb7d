import type { FlowGraph } from "../endtoend/call-graph.ts";
import type { FlowResidual } from "../endtoend/flow-predictor.ts";
import type { Direction, PlanService, Prices, Resource, Size } from "./plan-service.ts";
import { PlanState } from "./plan-state.ts";
import { raise } from "./raise.ts";
import { takeBack } from "./take-back.ts";

/** How candidates are ranked: by end-to-end latency per cost, or by the service's own latency per cost as Grad does. */
export type Ranking = "chain" | "own";

export interface PlanOptions {
  readonly objectiveSeconds: number;
  /** A missed objective is cured down to this share of it, so that the next breath of noise is no miss; 1 by default. */
  readonly aimRatio?: number;
  /** True gives steps down to the aim even where the objective is predicted to be met already. */
  readonly cures?: boolean;
  /**
   * False gives nothing, whatever is predicted: the objective is met as measured, and no more load is on its way. True by
   * default.
   */
  readonly mayGive?: boolean;
  /** Steps are taken back while the predicted tail stays under this share of the objective (Grad's ε). */
  readonly slackRatio: number;
  /**
   * Share of the objective by which the tail of a flow may grow when steps are taken back though it has no slack: what
   * hardly adds to it is not worth keeping. 0 by default.
   */
  readonly freeRatio?: number;
  readonly ranking: Ranking;
  /** A step that buys less than this share of what is missed is not taken; a ten-thousandth by default. */
  readonly leastGainRatio?: number;
  /** Ends a plan that would go on for ever; a plan that ends here says so. */
  readonly maxSteps: number;
  readonly prices: Prices;
  /** Limits of the application as a whole; absent means none. */
  readonly quota?: { readonly pods?: number; readonly cpuCores?: number; readonly memoryBytes?: number };
  /** Largest container that fits on any node; absent means unknown. */
  readonly largestContainer?: { readonly cpuCores: number; readonly memoryBytes: number };
}

export const DEFAULT_SLACK_RATIO = 0.9;

export interface PlanFlow {
  readonly graph: FlowGraph;
  /**
   * Measured over predicted tail of this flow as it runs now (Commit's feedback): corrects what the call graph leaves
   * out.
   */
  readonly calibration: number;
  /** What has been learnt of the flow beyond its call graph; absent: nothing. */
  readonly residual?: FlowResidual;
}

/** One step of a plan: what is changed, what that buys and what it costs. */
export interface PlanStep {
  readonly service: string;
  readonly resource: Resource;
  readonly direction: Direction;
  readonly from: Size;
  readonly to: Size;
  /** Tail of the worst flow, seconds. */
  readonly tailBeforeSeconds: number;
  readonly tailAfterSeconds: number;
  /** Change of the application's price per hour; negative when saved. */
  readonly costPerHour: number;
}

export interface Prepared {
  readonly sizes: readonly Size[];
  /** Predicted tail of each flow before and after the plan, in the order of the flows. */
  readonly flowTails: readonly { readonly beforeSeconds: number; readonly afterSeconds: number }[];
  readonly steps: readonly PlanStep[];
  readonly tailBeforeSeconds: number;
  readonly tailAfterSeconds: number;
  readonly costBeforePerHour: number;
  readonly costAfterPerHour: number;
  /** Steps to give were looked for, rather than steps to take back. */
  readonly gives: boolean;
  /** True when the predicted tail after the plan is within the objective. */
  readonly feasible: boolean;
  /** Why the plan ended where it did, in plain words. */
  readonly outcome: string;
}

/**
 * Prepare phase (Grad §V): while the predicted tail misses the objective, one step at a time goes where it buys most;
 * when there is slack, the steps that matter least are taken back. A plan does one or the other, so that what it did
 * can be told from what is measured next. Nothing is applied.
 *
 * Never throws on numbers: services without a model and non-finite predictions are left as they are.
 * @param services numbered as in the service index the flows were compiled with
 */
export function prepare(
  services: readonly PlanService[],
  flows: readonly PlanFlow[],
  options: PlanOptions,
): Prepared {
  const state = new PlanState(services, flows, options);
  const tailBeforeSeconds = state.worstTailSeconds();
  const flowsBefore = flows.map((_, flow) => state.tailOf(flow));
  const costBeforePerHour = state.totalCostPerHour();
  const isMet =
    options.cures !== true && (options.mayGive === false || tailBeforeSeconds <= options.objectiveSeconds);
  const outcome = isMet ? takeBack(state, options) : raise(state, options);
  const tailAfterSeconds = state.worstTailSeconds();
  return {
    sizes: services.map((_, service) => state.sizeOf(service)),
    flowTails: flowsBefore.map((beforeSeconds, flow) => ({
      beforeSeconds,
      afterSeconds: state.tailOf(flow),
    })),
    steps: state.steps,
    tailBeforeSeconds,
    tailAfterSeconds,
    costBeforePerHour,
    costAfterPerHour: state.totalCostPerHour(),
    gives: !isMet,
    feasible: tailAfterSeconds <= options.objectiveSeconds,
    outcome,
  };
}
