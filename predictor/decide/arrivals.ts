import { compileFlow, serviceIndex } from "../models/route/call-graph.ts";
import { demandOf } from "../models/queue/tracked-profile.ts";
import type { Observation } from "../facts/observation.ts";
import type { CostRequest } from "./request.ts";
import type { ServiceModelMemory } from "./state.ts";

export interface Arrivals {
  /** Requests per second that arrive at the application. */
  readonly perSecond: number;
  /** Requests per second that arrive at each service. */
  readonly loads: ReadonlyMap<string, number>;
}

/**
 * What arrives: what was answered, and of the requests that entered the application beyond that as many as each makes calls
 * of a service. So a service behind a queue is sized for what will reach it once the queue is gone.
 * @param counted requests that began in the window over those that were answered in it
 */
export function arrivals(
  { context, observations, verdict }: Pick<CostRequest, "context" | "observations" | "verdict">,
  counted: number,
): Arrivals {
  const names = observations.map(({ service }) => service);
  const index = serviceIndex(names);
  const loads = observations.map(({ window }) => window?.requestsPerSecond ?? 0);
  let perSecond = 0;
  for (const { flow } of verdict.flows) {
    const graph = compileFlow(flow, context.windowSet, index);
    perSecond += counted * flow.requestsPerSecond;
    if (graph === undefined) continue;
    const more = (counted - 1) * flow.requestsPerSecond;
    for (const [node, visits] of graph.visits.entries()) {
      const service = graph.serviceOf[node] ?? 0;
      loads[service] = Math.max(0, (loads[service] ?? 0) + more * visits);
    }
  }
  return { perSecond, loads: new Map(names.map((name, at) => [name, loads[at] ?? 0])) };
}

/** A container that uses this share of what it can is full: what it would have used beyond that is not known. */
export const FULL_SHARE = 0.95;

/**
 * Load that a full service hides, as a factor: a container that was throttled in all of its periods may have been asked for
 * twice what it did, and callers that were turned away leave no trace. 1 for a service with room.
 */
export function hiddenLoad({ demand }: Observation, model: ServiceModelMemory | undefined): number {
  if (demand === undefined || demand.podsMeasured === 0) return 1;
  const parallelism = (model && demandOf(model.profile)?.parallelism) ?? Number.POSITIVE_INFINITY;
  const { podCapacityCores, podsMeasured, throttledRatio, usageCores } = demand;
  const used = usageCores / podsMeasured / Math.min(podCapacityCores, parallelism);
  if (!(used >= FULL_SHARE)) return 1;
  return podCapacityCores <= parallelism ? 1 + throttledRatio : 2;
}
