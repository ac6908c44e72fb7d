import type { FlowWindow, WindowSet } from "@tradewind/core/contract/window.ts";
import { compileFlow } from "@tradewind/predictor/models/route/call-graph.ts";
import type { FlowGraph, ServiceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { normalCdf } from "@tradewind/predictor/models/normal.ts";
import { FlowTail } from "@tradewind/predictor/models/route/flow-tail.ts";
import { median } from "@tradewind/core/values/statistics.ts";

/** What predicts the latency of one route from the self times of the services behind it. */
export interface RouteModel {
  readonly route: string;
  readonly graph: FlowGraph;
  /** Self time's mean over its tail, by service number. */
  readonly meanOverTail: Float64Array;
  /**
   * Time that no service's self time explains (databases without spans, third parties, transit), seconds: median of measured
   * less composed over the fitted part. Never negative.
   */
  readonly outsideSeconds: number;
  /** Where the composition is above what was measured: median of measured over composed, at most 1. */
  readonly factor: number;
  /** Standard deviation of the logarithm of one request's latency within a window, by p95 over p50. */
  readonly requestSpread: number;
}

/** Standard normal quantile of 0.95. */
const Z95 = 1.6448536269514722;

export const flowOf = (set: WindowSet, route: string): FlowWindow | undefined =>
  set.flows.find(({ flow }) => flow === route);

/** p95 of a route if its services' self times had these tails, seconds. @param ownTails by service number */
export function routeSeconds(model: RouteModel, ownTails: Float64Array): number {
  const composed = new FlowTail(model.graph, ownTails, model.meanOverTail).tailSeconds;
  return model.factor * composed + model.outsideSeconds;
}

/** Measured tails of self time by service number; 0 where a service has none. */
function measuredTails({ windows }: WindowSet, index: ServiceIndex): Float64Array {
  const tails = new Float64Array(index.names.length);
  for (const { ownLatency, service } of windows) {
    const number = index.numberOf.get(service);
    if (number !== undefined && ownLatency !== undefined) tails[number] = ownLatency.p95Seconds;
  }
  return tails;
}

/** @returns undefined where no interval of the fitted part has the route with a call graph */
export function fitRoute(
  route: string,
  fit: readonly WindowSet[],
  index: ServiceIndex,
  meanOverTail: Float64Array,
): RouteModel | undefined {
  const withRoute = fit.filter((set) => flowOf(set, route) !== undefined);
  const last = withRoute.at(-1);
  const flow = last && flowOf(last, route);
  const graph = last && flow && compileFlow(flow, last, index);
  if (graph === undefined) return undefined;
  const plain: RouteModel = { route, graph, meanOverTail, outsideSeconds: 0, factor: 1, requestSpread: 0 };
  const pairs = withRoute.map((set) => ({
    latency: (flowOf(set, route) as FlowWindow).latency,
    composed: routeSeconds(plain, measuredTails(set, index)),
  }));
  const outside = median(pairs.map(({ composed, latency }) => latency.p95Seconds - composed));
  const factor = median(pairs.map(({ composed, latency }) => latency.p95Seconds / Math.max(composed, 1e-9)));
  const spreads = pairs
    .filter(({ latency }) => latency.p50Seconds > 0)
    .map(({ latency }) => Math.log(latency.p95Seconds / latency.p50Seconds) / Z95);
  return {
    ...plain,
    outsideSeconds: Math.max(0, outside),
    factor: outside >= 0 ? 1 : Math.min(1, factor),
    requestSpread: Math.max(0.05, median(spreads)),
  };
}

/**
 * Share of requests over an objective when the route's p95 is `p95Seconds` and single requests are log-normal around it.
 * @param spread standard deviation of the logarithm of one request's latency, > 0
 */
export function overRatio(p95Seconds: number, objectiveSeconds: number, spread: number): number {
  const z = (Math.log(objectiveSeconds) - Math.log(p95Seconds)) / spread + Z95;
  return 1 - normalCdf(z);
}
