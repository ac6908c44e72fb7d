import { compileFlow, serviceIndex } from "../../../models/route/call-graph.ts";
import { SATURATED } from "../../../models/queue/take-window.ts";
import { demandOf } from "../../../models/queue/tracked-profile.ts";
import type { Observation } from "../../facts/observation.ts";
import type { CostRequest } from "./request.ts";
import type { Calls, RouteMemory, ServiceModelMemory } from "../learn/state.ts";

export interface Arrivals {
  /** Requests per second that arrive at the application. */
  readonly perSecond: number;
  /** Requests per second that arrive at each service. */
  readonly loads: ReadonlyMap<string, number>;
  /** Of those that requests which failed would have made, had they gone on. */
  readonly intended: ReadonlyMap<string, number>;
}

/**
 * What arrives: what was answered, and of the requests that entered the application beyond that as many as each makes calls
 * of a service. So a service behind a queue is sized for what will reach it once the queue is gone.
 * Where more failed than may, requests count that would have been made of the services behind, had they gone on.
 * @param counted requests that began in the window over those that were answered in it
 * @param routes as they were before
 */
export function arrivals(
  { context, observations, verdict }: Pick<CostRequest, "context" | "observations" | "verdict">,
  counted: number,
  routes: readonly RouteMemory[] = [],
  calls: ReadonlyMap<string, Calls> = new Map(),
): Arrivals {
  const names = observations.map(({ service }) => service);
  const index = serviceIndex(names);
  const loads = observations.map(({ service, window }) => {
    const known = calls.get(service);
    return known !== undefined && known.requests > 0
      ? (known.calls / known.requests) * verdict.requestsPerSecond
      : (window?.requestsPerSecond ?? 0);
  });
  const visitsOf = new Map(routes.map(({ route, visits }) => [route, visits]));
  const intended = new Map<string, number>();
  let perSecond = 0;
  for (const { flow, isFailing } of verdict.flows) {
    const more = (counted - 1) * flow.requestsPerSecond;
    const graph = more === 0 ? undefined : compileFlow(flow, context.windowSet, index);
    perSecond += counted * flow.requestsPerSecond;
    const visits = isFailing ? visitsOf.get(flow.flow) : undefined;
    for (const { perRequest, service } of visits ?? []) {
      const calls = counted * flow.requestsPerSecond * perRequest;
      intended.set(service, (intended.get(service) ?? 0) + calls);
    }
    if (graph === undefined) continue;
    for (const [node, visits] of graph.visits.entries()) {
      const service = graph.serviceOf[node] ?? 0;
      loads[service] = Math.max(0, (loads[service] ?? 0) + more * visits);
    }
  }
  const all = names.map((name, at): [string, number] => {
    return [name, Math.max(loads[at] ?? 0, intended.get(name) ?? 0)];
  });
  return { perSecond, loads: new Map(all), intended };
}

/**
 * Load that a full service hides, as a factor: a container that was throttled in all of its periods may have been asked for
 * twice what it did, and callers that were turned away leave no trace. 1 for a service with room. What the requests counted ask for
 * beyond what it did is not hidden.
 * @param requestsPerSecond counted
 */
export function hiddenLoad(
  { demand }: Observation,
  model: ServiceModelMemory | undefined,
  requestsPerSecond = 0,
): number {
  if (demand === undefined || demand.podsMeasured === 0) return 1;
  const known = model && demandOf(model.profile);
  const parallelism = known?.parallelism ?? Number.POSITIVE_INFINITY;
  const { podCapacityCores, podsMeasured, throttledRatio, usageCores } = demand;
  const used = usageCores / podsMeasured / Math.min(podCapacityCores, parallelism);
  if (!(used >= SATURATED)) return 1;
  const asked = podCapacityCores <= parallelism ? 1 + throttledRatio : 2;
  const countedCores = requestsPerSecond * (known?.cpuSecondsPerRequest ?? 0);
  return Math.max(1, asked / Math.max(1, countedCores / usageCores));
}
