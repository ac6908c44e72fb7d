import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "../../../models/route/call-graph.ts";
import type { FlowGraph, ServiceIndex } from "../../../models/route/call-graph.ts";
import { P95 } from "../../../models/queue/queue-curve.ts";
import { LEAST_CALLS } from "../../../models/queue/take-window.ts";
import { TAIL_QUANTILE } from "../../../models/route/lognormal.ts";
import { FlowTail } from "../../../models/route/flow-tail.ts";
import type { Observation } from "../../facts/observation.ts";
import { chanceOfTail, median } from "../../../models/statistics.ts";
import { flowTailSeconds } from "../../facts/objective.ts";
import type { Lesson } from "./lesson.ts";
import { ownTailSeconds } from "./percentile.ts";
import type { CostMemory, RouteMemory } from "./state.ts";

/** Excesses of this many windows are kept; after the first few those of one window in {@link EVERY}: of an hour in all. */
const MOST_EXCESSES = 64;
const EVERY = 4;
/** Weight of a window in what is learnt of a route's spread and error. */
const ROUTE_SHARE = 0.1;
/** Until it has been seen a composed tail counts as off by so much, as ln. */
export const UNSEEN_ERROR = 0.3;
const LEAST_SPREAD = 0.1;
const MOST_ROUTES = 1_000;
const MOST_VISITED = 1_000;
/** Tails outside of these seconds are no measurements: ratios of them would leave the range of numbers. */
const LEAST_SECONDS = 1e-9;
const MOST_SECONDS = 1e9;

const isMeasurement = (seconds: number): boolean => seconds >= LEAST_SECONDS && seconds <= MOST_SECONDS;

/** Nothing starts, drains or changes its size on the way of the route. */
function isSteady(services: readonly string[], observations: ReadonlyMap<string, Observation>): boolean {
  return services.every((service) => {
    const one = observations.get(service);
    return one === undefined || !(one.settling || one.draining || one.resizing);
  });
}

/** What the windows say of each route after one more. */
export function routesAfter(memory: Pick<CostMemory, "routes">, lesson: Lesson): RouteMemory[] {
  const { observations, verdict } = lesson;
  const before = new Map(memory.routes.map((each) => [each.route, each]));
  const byName = new Map(observations.map((each) => [each.service, each]));
  const own = measuredOwn(lesson);
  const seen = new Set(verdict.flows.map(({ flow }) => flow.flow));
  const learnt = verdict.flows.map(({ flow, isFailing }): RouteMemory => {
    const known = before.get(flow.flow) ?? emptyRoute(flow.flow);
    if (flow.latency.count < LEAST_CALLS[P95] || isFailing) return known;
    const graph = compileFlow(flow, lesson.windowSet, own.index);
    const had = Object.assign({}, known, visitsOf(graph, lesson));
    if (!isSteady(flow.services, byName)) return had;
    const composed = graph === undefined ? 0 : new FlowTail(graph, own.tail, own.meanOverTail).tailSeconds;
    const measured = flowTailSeconds(flow.latency, lesson.percentile);
    return isMeasurement(composed) && isMeasurement(measured)
      ? routeAfter(had, flow.latency, composed, measured)
      : had;
  });
  return [...learnt, ...memory.routes.filter(({ route }) => !seen.has(route))].slice(0, MOST_ROUTES);
}

/** Requests to each service that one request of the route makes; one that failed makes fewer. */
function visitsOf(
  graph: FlowGraph | undefined,
  { windowSet: { windows } }: Lesson,
): Pick<RouteMemory, "visits"> {
  if (graph === undefined) return {};
  const visits = new Map<string, number>();
  for (const [node, perRequest] of graph.visits.entries()) {
    const { service } = windows[graph.serviceOf[node] ?? 0] ?? {};
    if (service !== undefined) visits.set(service, (visits.get(service) ?? 0) + perRequest);
  }
  const known = [...visits].map(([service, perRequest]) => ({ service, perRequest }));
  return { visits: known.slice(0, MOST_VISITED) };
}

const emptyRoute = (route: string): RouteMemory => ({
  route,
  excessSeconds: [],
  excessRatios: [],
  windows: 0,
  spread: 0,
  square: UNSEEN_ERROR ** 2,
});

interface MeasuredOwn {
  readonly index: ServiceIndex;
  readonly tail: Float64Array;
  readonly meanOverTail: Float64Array;
}

/** Of all services of the window: some on the way have no workload. At the percentile that the models predict. */
function measuredOwn({ percentile, windowSet: { windows } }: Lesson): MeasuredOwn {
  const tail = Float64Array.from(windows, ({ ownLatency }) => ownTailSeconds(ownLatency, percentile) ?? 0);
  return {
    index: serviceIndex(windows.map(({ service }) => service)),
    tail,
    meanOverTail: Float64Array.from(windows, ({ ownLatency }, at) => {
      const seconds = tail[at] ?? 0;
      return ownLatency !== undefined && seconds > 0 ? Math.min(1, ownLatency.meanSeconds / seconds) : 1;
    }),
  };
}

/** Standard deviation of ln(latency) of a route's requests, by two of their percentiles. */
export const spreadOf = ({ p50Seconds, p95Seconds }: LatencySummary): number =>
  Math.max(LEAST_SPREAD, Math.log(p95Seconds / Math.max(p50Seconds, LEAST_SECONDS)) / TAIL_QUANTILE);

/**
 * @param composed tail of the route from what its services took, seconds
 * @param measured tail of the route, seconds
 */
function routeAfter(
  had: RouteMemory,
  latency: LatencySummary,
  composed: number,
  measured: number,
): RouteMemory {
  const spread = spreadOf(latency);
  const isKept = had.windows < 2 * EVERY || had.windows % EVERY === 0;
  const kept = (values: readonly number[], value: number): number[] =>
    isKept ? [...values, value].slice(-MOST_EXCESSES) : [...values];
  const { excessSeconds, factor } = excessOf(had);
  const error =
    Math.log(measured / (factor * composed + excessSeconds)) ** 2 - chanceOfTail(latency.count) ** 2;
  return {
    ...had,
    windows: had.windows + 1,
    excessSeconds: kept(had.excessSeconds, measured - composed),
    excessRatios: kept(had.excessRatios, measured / composed),
    spread: had.spread === 0 ? spread : had.spread + ROUTE_SHARE * (spread - had.spread),
    square: Math.max(0, had.square + ROUTE_SHARE * (error - had.square)),
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
