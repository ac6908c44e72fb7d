import { compileFlow } from "../../../models/route/call-graph.ts";
import type { ServiceIndex } from "../../../models/route/call-graph.ts";
import type { FlowVerdict } from "../../facts/verdict.ts";
import type { RouteToHold } from "../price/cost-inputs.ts";
import { excessOf, spreadOf, UNSEEN_ERROR } from "../learn/learn-routes.ts";
import type { CostRequest, Known } from "./request.ts";

export interface HeldRoute {
  readonly measured: FlowVerdict;
  readonly route: RouteToHold;
}

/**
 * The routes of the window with what is known of them.
 * @param index numbers of the services that the cost has
 * @param flows those of the window that count; default all
 */
export function routesToHold(
  { context, verdict }: CostRequest,
  { memory }: Pick<Known, "memory">,
  index: ServiceIndex,
  flows = verdict.flows,
): HeldRoute[] {
  const remembered = new Map(memory.routes.map((each) => [each.route, each]));
  const all = verdict.requestsPerSecond;
  return flows.flatMap((measured): HeldRoute[] => {
    const { flow } = measured;
    const graph = compileFlow(flow, context.windowSet, index);
    const route = remembered.get(flow.flow);
    if (graph === undefined) return [];
    return [
      {
        measured,
        route: {
          graph,
          share: all > 0 ? flow.requestsPerSecond / all : 0,
          objectiveSeconds: context.application.objective.milliseconds / 1e3,
          ...excessOf(route),
          spread: route !== undefined && route.spread > 0 ? route.spread : spreadOf(flow.latency),
          sigma: route === undefined ? UNSEEN_ERROR : Math.sqrt(route.square),
        },
      },
    ];
  });
}
