import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import type { FlowGraph, ServiceIndex } from "../../../models/route/call-graph.ts";
import { P95 } from "../../../models/queue/queue-curve.ts";
import { LEAST_CALLS } from "../../../models/queue/take-window.ts";
import { TAIL_QUANTILE } from "../../../models/route/lognormal.ts";
import { FlowTail } from "../../../models/route/flow-tail.ts";
import type { Observation } from "../../facts/observation.ts";
import { chanceOfTail, median } from "../../../models/statistics.ts";
import { flowTailSeconds } from "../../facts/objective.ts";
import { graphAmong } from "../../../models/route/call-graph.ts";
import type { CostWindow } from "./cost-window.ts";
import { ownTailSeconds } from "./percentile.ts";
import type { CostMemory, RouteMemory } from "./state.ts";

/** Excesses of this many windows are kept; after the first few those of one window in {@link EVERY}: of an hour in all. */
const MOST_EXCESSES = 64;
const EVERY = 4;
/** Weight of a window in what is learnt of a route's spread and error, and of self times while objectives are met. */
export const ROUTE_SHARE = 0.1;
/** Until it has been seen a composed tail counts as off by so much, as ln. */
export const UNSEEN_ERROR = 0.3;
const LEAST_SPREAD = 0.1;
const MOST_ROUTES = 1_000;
const MOST_VISITED = 1_000;
/** Tails outside of these seconds are no measurements: ratios of them would leave the range of numbers. */
export const LEAST_SECONDS = 1e-9;
const MOST_SECONDS = 1e9;

const isMeasurement = (seconds: number): boolean => seconds >= LEAST_SECONDS && seconds <= MOST_SECONDS;

/** Nothing starts, drains or changes its size on the way of the route. */
const isSteady = (services: readonly string[], observations: ReadonlyMap<string, Observation>): boolean =>
  services.every((service) => {
    const { draining = false, resizing = false, settling = false } = observations.get(service) ?? {};
    return !(settling || draining || resizing);
  });

/** What the windows say of each route after one more. One without a part of the traffic says nothing. */
export function routesAfter(memory: Pick<CostMemory, "routes">, window: CostWindow): RouteMemory[] {
  if (window.missing !== undefined) return memory.routes;
  const { application, index, observations, routes } = window;
  const { percentile } = application.objective;
  const remembered = new Map(memory.routes.map((route) => [route.route, route]));
  const observationOf = new Map(observations.map((observation) => [observation.service, observation]));
  const selfTimes = measuredSelfTimes(window);
  const measured = routes.map((route): RouteMemory => {
    const { flow, isFailing } = route;
    const before = remembered.get(flow.flow) ?? emptyRoute(flow.flow);
    if (flow.latency.count < LEAST_CALLS[P95] || isFailing) return before;
    const graph = graphAmong(route, window, (service) => selfTimes.services.has(service));
    const visited = graph === undefined ? before : { ...before, visits: visitsOf(graph, index) };
    if (!isSteady(flow.services, observationOf)) return visited;
    const composed =
      graph === undefined ? 0 : new FlowTail(graph, selfTimes.tail, selfTimes.meanOverTail).tailSeconds;
    const tailSeconds = flowTailSeconds(flow.latency, percentile);
    return isMeasurement(composed) && isMeasurement(tailSeconds)
      ? routeAfter(visited, flow.latency, composed, tailSeconds)
      : visited;
  });
  const names = new Set(routes.map(({ flow }) => flow.flow));
  return [...measured, ...memory.routes.filter(({ route }) => !names.has(route))].slice(0, MOST_ROUTES);
}

/** Requests to each service that one request of the route makes; one that failed makes fewer. */
function visitsOf({ serviceOf, visits }: FlowGraph, { names }: ServiceIndex): RouteMemory["visits"] {
  const byService = new Map<string, number>();
  for (const [node, perRequest] of visits.entries()) {
    const service = names[serviceOf[node] ?? 0] ?? "";
    byService.set(service, (byService.get(service) ?? 0) + perRequest);
  }
  return [...byService].map(([service, perRequest]) => ({ service, perRequest })).slice(0, MOST_VISITED);
}

const emptyRoute = (route: string): RouteMemory => ({
  route,
  excessSeconds: [],
  excessRatios: [],
  windows: 0,
  spread: 0,
  square: UNSEEN_ERROR ** 2,
});

/** Self times as measured, by service number. */
interface MeasuredSelfTimes {
  /** Those that have a window. */
  readonly services: ReadonlySet<string>;
  /** At the percentile that the models predict, seconds; 0 where it is not known. */
  readonly tail: Float64Array;
  readonly meanOverTail: Float64Array;
}

function measuredSelfTimes({ application, index, windows }: CostWindow): MeasuredSelfTimes {
  const tail = new Float64Array(index.names.length);
  const meanOverTail = new Float64Array(index.names.length).fill(1);
  for (const { ownLatency, service } of windows) {
    const seconds = ownTailSeconds(ownLatency, application.objective.percentile) ?? 0;
    const number = index.numberOf.get(service) ?? 0;
    tail[number] = seconds;
    if (ownLatency !== undefined && seconds > 0)
      meanOverTail[number] = Math.min(1, ownLatency.meanSeconds / seconds);
  }
  return { services: new Set(windows.map(({ service }) => service)), tail, meanOverTail };
}

/** Standard deviation of ln(latency) of a route's requests, by two of their percentiles. */
export const spreadOf = ({ p50Seconds, p95Seconds }: LatencySummary): number =>
  Math.max(LEAST_SPREAD, Math.log(p95Seconds / Math.max(p50Seconds, LEAST_SECONDS)) / TAIL_QUANTILE);

/**
 * @param composed tail of the route from what its services took, seconds
 * @param measured tail of the route, seconds
 */
function routeAfter(
  routeBefore: RouteMemory,
  latency: LatencySummary,
  composed: number,
  measured: number,
): RouteMemory {
  const spread = spreadOf(latency);
  const isKept = routeBefore.windows < 2 * EVERY || routeBefore.windows % EVERY === 0;
  const appended = (values: readonly number[], value: number): number[] =>
    isKept ? [...values, value].slice(-MOST_EXCESSES) : [...values];
  const { excessSeconds, factor } = excessOf(routeBefore);
  const error =
    Math.log(measured / (factor * composed + excessSeconds)) ** 2 - chanceOfTail(latency.count) ** 2;
  return {
    ...routeBefore,
    windows: routeBefore.windows + 1,
    excessSeconds: appended(routeBefore.excessSeconds, measured - composed),
    excessRatios: appended(routeBefore.excessRatios, measured / composed),
    spread:
      routeBefore.spread === 0 ? spread : routeBefore.spread + ROUTE_SHARE * (spread - routeBefore.spread),
    square: Math.max(0, routeBefore.square + ROUTE_SHARE * (error - routeBefore.square)),
  };
}

/** What a route takes beyond its services: seconds on top, or a factor below 1 where it takes less than composed. */
export interface Excess {
  readonly excessSeconds: number;
  readonly factor: number;
}

/**
 * The median of steady windows of up to an hour: what is slow for a while outside of the services is no reason to size them
 * otherwise, and what is always there is none either.
 */
export function excessOf(route: RouteMemory | undefined): Excess {
  const { excessRatios = [], excessSeconds = [] } = route ?? {};
  if (excessSeconds.length === 0) return { excessSeconds: 0, factor: 1 };
  return { excessSeconds: Math.max(0, median(excessSeconds)), factor: Math.min(1, median(excessRatios)) };
}
