import type { Window } from "@tradewind/core/contract/window.ts";
import { reachedServices, serviceIndex } from "../../../models/route/call-graph.ts";
import type { Observation } from "../../facts/observation.ts";
import type { FlowVerdict } from "../../facts/verdict.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import type { CostRequest } from "./request.ts";
import { passedService } from "./services.ts";

/** Windows of the services in the application's namespace. */
export const ownWindows = ({ context: { application, windowSet } }: Pick<CostRequest, "context">): Window[] =>
  windowSet.windows.filter(({ namespace }) => namespace === application.namespace);

/**
 * Services that requests of these routes reach by calls whose caller waits for them. A consumer of a queue is in the traces of requests
 * too, but nobody waits for it: no route would hold its size.
 */
export function servicesOnRoutes(
  request: Pick<CostRequest, "context" | "observations">,
  flows: readonly FlowVerdict[],
): ReadonlySet<string> {
  const all = [...request.observations, ...ownWindows(request)];
  const index = serviceIndex([...new Set(all.map(({ service }) => service))]);
  return new Set(flows.flatMap(({ flow }) => reachedServices(flow, request.context.windowSet, index)));
}

/** The services that a cost is made of. */
export interface ServicesOfCost {
  /** Those that can be sized. */
  readonly routed: readonly Observation[];
  /** Those, in the same order, and after them the services without a workload that requests pass. */
  readonly services: readonly ServiceToSize[];
}

/** @param sizeOf a service as the cost is to see it */
export function servicesOfCost(
  request: CostRequest,
  onRoute: ReadonlySet<string>,
  sizeOf: (one: Observation) => ServiceToSize,
): ServicesOfCost {
  const routed = request.observations.filter(({ service }) => onRoute.has(service));
  const sized = new Set(routed.map(({ service }) => service));
  const passed = ownWindows(request).filter(({ service }) => onRoute.has(service) && !sized.has(service));
  return {
    routed,
    services: [...routed.map(sizeOf), ...passed.map((window) => passedService(window, request))],
  };
}
