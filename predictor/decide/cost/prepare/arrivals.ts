import { SATURATED } from "../../../models/queue/take-window.ts";
import { demandOf } from "../../../models/queue/tracked-profile.ts";
import type { Observation } from "../../facts/observation.ts";
import { areCallsMeasured } from "../learn/calls.ts";
import { graphAmong, namesIn } from "../../../models/route/call-graph.ts";
import type { CostWindow } from "../learn/cost-window.ts";
import { HOLD_MS, outlookOf } from "../learn/outlook.ts";
import type { LoadOutlook } from "../learn/outlook.ts";
import type { CostMemory, ServiceModelMemory } from "../learn/state.ts";

/** Requests that arrive in the window, per second by service. */
export interface Arrivals {
  readonly perSecond: ReadonlyMap<string, number>;
  /** Of those the ones that failed before they reached the service, had they gone on. */
  readonly lostPerSecond: ReadonlyMap<string, number>;
}

/**
 * What services answered, and for requests that queue at the entry the calls that each makes. So a service behind a queue is sized
 * for what reaches it once the queue is gone. Of a route that fails more requests than may be late, services behind count with the
 * calls of earlier windows.
 * @param memory after the window
 */
export function arrivals(
  window: CostWindow,
  { routes, services }: Pick<CostMemory, "routes" | "services">,
): Arrivals {
  const { arrivalRatio = 1, index } = window;
  const perSecond = answeredPerSecond(window, services);
  const visitsOf = new Map(routes.map(({ route, visits }) => [route, visits]));
  const lostPerSecond = new Map<string, number>();
  for (const route of window.routes) {
    const { flow, isFailing } = route;
    const visits = isFailing ? visitsOf.get(flow.flow) : undefined;
    for (const { perRequest, service } of visits ?? []) {
      const calls = arrivalRatio * flow.requestsPerSecond * perRequest;
      lostPerSecond.set(service, (lostPerSecond.get(service) ?? 0) + calls);
    }
  }
  for (const route of [...window.routes, ...window.otherRoutes]) {
    const queued = (arrivalRatio - 1) * route.flow.requestsPerSecond;
    const graph = queued === 0 ? undefined : graphAmong(route, window, (service) => perSecond.has(service));
    for (const [node, service] of namesIn(graph, index).entries()) {
      const calls = queued * (graph?.visits[node] ?? 0);
      perSecond.set(service, Math.max(0, (perSecond.get(service) ?? 0) + calls));
    }
  }
  for (const [service, calls] of perSecond)
    perSecond.set(service, Math.max(calls, lostPerSecond.get(service) ?? 0));
  return { perSecond, lostPerSecond };
}

/** Where calls a request are known from enough windows they say more than the count of this one. */
function answeredPerSecond(
  costWindow: CostWindow,
  services: readonly ServiceModelMemory[],
): Map<string, number> {
  const models = areCallsMeasured(costWindow) ? services : [];
  const callsOf = new Map(models.map(({ calls, service }) => [service, calls]));
  return new Map(
    costWindow.observations.map(({ service, window }) => {
      const { calls = 0, requests = 0 } = callsOf.get(service) ?? {};
      const answered = window?.requestsPerSecond;
      return answered !== undefined && requests > 0
        ? [service, (calls / requests) * costWindow.verdict.requestsPerSecond]
        : [service, answered ?? 0];
    }),
  );
}

/** The load to size for. */
export interface LoadNow extends Arrivals {
  /** Services that requests of users pass, or would pass if they did not fail. */
  readonly onRoute: ReadonlySet<string>;
  readonly outlook: LoadOutlook;
}

/** @param memory after the window */
export function loadNow(window: CostWindow, memory: CostMemory): LoadNow {
  const { index, observations, platform, routes, settings } = window;
  const arrived = arrivals(window, memory);
  const passed = routes.flatMap(({ graph }) => namesIn(graph, index));
  const onRoute = new Set([...passed, ...arrived.lostPerSecond.keys()]);
  const modelOf = new Map(memory.services.map((model) => [model.service, model]));
  const surgeRatio = observations
    .filter(({ service }) => onRoute.has(service) && mayHideLoad(service, window))
    .map((observation) => {
      const { service } = observation;
      return hiddenLoad(observation, modelOf.get(service), arrived.perSecond.get(service));
    })
    .reduce((most, ratio) => Math.max(most, ratio), platform.surgeRatio ?? 1);
  const outlook = outlookOf(memory.outlook, {
    horizonMs: 1e3 * memory.startSeconds,
    holdMs: HOLD_MS,
    usesSeasons: settings.cost.seasons,
    surgeRatio,
  });
  return { ...arrived, onRoute, outlook };
}

/**
 * Requests are counted where they enter, as they begin: behind a counted entry no load is hidden, however full a service is. A full entry
 * may begin fewer requests than come, and callers that it turns away leave no trace.
 */
const mayHideLoad = (
  service: string,
  { application, arrivalRatio }: Pick<CostWindow, "application" | "arrivalRatio">,
): boolean => arrivalRatio === undefined || application.entries.includes(service);

/**
 * Load that a full service hides, as a factor: a container that was throttled in all of its periods may have been asked for
 * twice what it did, and callers that were turned away leave no trace. 1 for a service with CPU left.
 * @param requestsPerSecond counted; what they ask for beyond what was done is not hidden
 */
export function hiddenLoad(
  { demand }: Observation,
  model: ServiceModelMemory | undefined,
  requestsPerSecond = 0,
): number {
  if (demand === undefined || demand.podsMeasured === 0) return 1;
  const modelDemand = model && demandOf(model.profile);
  const parallelism = modelDemand?.parallelism ?? Number.POSITIVE_INFINITY;
  const { podCapacityCores, podsMeasured, throttledRatio, usageCores } = demand;
  const used = usageCores / podsMeasured / Math.min(podCapacityCores, parallelism);
  if (!(used >= SATURATED)) return 1;
  const asked = podCapacityCores <= parallelism ? 1 + throttledRatio : 2;
  const countedCores = requestsPerSecond * (modelDemand?.cpuSecondsPerRequest ?? 0);
  return Math.max(1, asked / Math.max(1, countedCores / usageCores));
}
