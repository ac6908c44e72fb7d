import { renumbered, serviceIndex } from "../../../models/route/call-graph.ts";
import type { ServiceIndex } from "../../../models/route/call-graph.ts";
import { flowTailSeconds, shareOver as measuredShareOver } from "../../facts/objective.ts";
import type { Observation } from "../../facts/observation.ts";
import { budgetOf } from "../learn/error-budget.ts";
import { namesIn } from "../../../models/route/call-graph.ts";
import type { CostWindow, MeasuredRoute } from "../learn/cost-window.ts";
import { excessOf, LEAST_SECONDS, spreadOf, UNSEEN_ERROR } from "../learn/learn-routes.ts";
import { ownTailSeconds } from "../learn/percentile.ts";
import type { CostMemory } from "../learn/state.ts";
import { ApplicationCost } from "../price/application-cost.ts";
import type { RouteToHold, ServiceToSize } from "../price/cost-inputs.ts";
import { normalQuantile, shareOver } from "../price/route-cost.ts";
import type { LoadNow } from "./arrivals.ts";
import { atRunningSize } from "./service-now.ts";
import type { ServicesNow } from "./service-now.ts";

/** Services that requests of these routes wait for. */
export const servicesOn = (
  routes: readonly MeasuredRoute[],
  { index }: Pick<CostWindow, "index">,
): ReadonlySet<string> => new Set(routes.flatMap(({ graph }) => namesIn(graph, index)));

/**
 * Routes with what earlier windows have shown of them; one whose entry is no service of the application is left out.
 * @param index numbers of the services that the cost has
 */
export function routesToHold(
  routes: readonly MeasuredRoute[],
  { index: allServices, routes: allRoutes, settings }: CostWindow,
  memory: Pick<CostMemory, "budgets" | "routes">,
  index: ServiceIndex,
): RouteToHold[] {
  const remembered = new Map(memory.routes.map((route) => [route.route, route]));
  const perSecond = allRoutes.reduce((sum, { flow }) => sum + flow.requestsPerSecond, 0);
  const weighed = allRoutes.reduce((sum, { flow, weight }) => sum + weight * flow.requestsPerSecond, 0);
  return routes.flatMap(({ flow, graph, objective, weight }): RouteToHold[] => {
    if (graph === undefined) return [];
    const route = remembered.get(flow.flow);
    const { worth } = budgetOf(memory.budgets, objective) ?? settings.cost;
    return [
      {
        graph: renumbered(graph, allServices, index),
        share: perSecond > 0 ? flow.requestsPerSecond / perSecond : 0,
        weight: worth * (weighed > 0 ? (weight * perSecond) / weighed : weight),
        objectiveSeconds: objective.tailSeconds,
        budget: 1 - objective.percentile,
        ...excessOf(route),
        spread: route !== undefined && route.spread > 0 ? route.spread : spreadOf(flow.latency),
        sigma: route === undefined ? UNSEEN_ERROR : Math.sqrt(route.square),
      },
    ];
  });
}

/** A route that misses its objective by more than the models expect of the sizes that run. */
export interface UnexplainedMiss {
  readonly route: MeasuredRoute;
  /** Share of its requests that are over the objective or failed, and the share that the models expect. */
  readonly overRatio: number;
  readonly expectedRatio: number;
}

/** Routes that miss their objective, as the models see them. */
export interface JudgedMisses {
  /** Services of which nothing is taken. */
  readonly keptServices: ReadonlySet<string>;
  readonly unexplained: readonly UnexplainedMiss[];
  /** By service, see {@link heldUpServices}; nothing is taken of these either. */
  readonly heldUp: ReadonlyMap<string, HeldUp>;
}

/** What a service takes while it waits for something else than its CPU. */
export interface HeldUp {
  /** Its self-time tail over what it is while objectives are met. */
  readonly selfTimeRatio: number;
  /** Its CPU demand over what its ready replicas have. */
  readonly cpuRatio: number;
}

/**
 * Services without whose added time a route that clearly misses its objective would meet it, and that have CPU to spare: they wait for a
 * lock, a pool or a server that sends no spans. What fewer replicas of them would do no model knows, whether it has learnt the new times or not.
 */
function heldUpServices(
  missed: readonly MeasuredRoute[],
  window: CostWindow,
  memory: Pick<CostMemory, "services">,
): ReadonlyMap<string, HeldUp> {
  const { application, settings } = window;
  const metTailOf = new Map(memory.services.map(({ metTailSeconds, service }) => [service, metTailSeconds]));
  const { percentile } = application.objective;
  const slower = window.observations.flatMap((each) => {
    const { service, utilisation: cpuRatio = 1, window: own } = each;
    const metSeconds = metTailOf.get(service);
    if (metSeconds === undefined || !(cpuRatio < settings.targetUtilisation) || isUnsettled(each)) return [];
    const seconds = ownTailSeconds(own?.ownLatency, percentile) ?? 0;
    const selfTimeRatio = seconds / Math.max(metSeconds, LEAST_SECONDS);
    return [{ service, addedSeconds: seconds - metSeconds, heldUp: { selfTimeRatio, cpuRatio } }];
  });
  const heldUp = new Map<string, HeldUp>();
  for (const route of missed) {
    const overSeconds = route.tailSeconds - route.objective.tailSeconds;
    if (!route.telling || route.severity < settings.clearMissRatio || overSeconds <= 0) continue;
    const enough = slower.filter(({ addedSeconds }) => !(addedSeconds < overSeconds));
    const passed = enough.length === 0 ? undefined : servicesOn([route], window);
    for (const each of enough) if (passed?.has(each.service) === true) heldUp.set(each.service, each.heldUp);
  }
  return heldUp;
}

/**
 * Which misses the models do not explain: by more than they expect of the sizes that run, with their own error. Nothing is taken from
 * services of such routes, since what they could do without is not known. An explained miss keeps nothing that does not help. Also kept
 * are services whose new replicas are not ready yet: their effect has not been measured.
 */
export function judgeMisses(
  window: CostWindow,
  memory: CostMemory,
  { measured, passed }: ServicesNow,
  { lostPerSecond }: Pick<LoadNow, "lostPerSecond">,
): JudgedMisses {
  const missed = window.routes.filter(({ severity }) => severity > 1);
  if (missed.length === 0) return { keptServices: new Set(), unexplained: [], heldUp: new Map() };
  const missedServices = servicesOn(missed, window);
  const running = [...measured.map(atRunningSize), ...passed];
  const services = running.filter(({ name }) => missedServices.has(name));
  // A route whose entry is no service of the application has no model, and nothing explains its miss.
  const modelled = missed.filter(({ graph }) => graph !== undefined);
  const unexplained = unexplainedMisses(modelled, services, window, memory);
  const unexplainedRoutes = new Set(unexplained.map(({ route }) => route.flow.flow));
  const left = missed.filter(({ flow, graph }) => graph === undefined || unexplainedRoutes.has(flow.flow));
  const starting = window.observations.filter((one) => missedServices.has(one.service) && isStarting(one));
  const behindFailures = left.length > 0 ? lostPerSecond.keys() : [];
  const heldUp = heldUpServices(missed, window, memory);
  const young = starting.map(({ service }) => service);
  const names = [...servicesOn(left, window), ...behindFailures, ...young, ...heldUp.keys()];
  return { keptServices: new Set(names), unexplained, heldUp };
}

function unexplainedMisses(
  missed: readonly MeasuredRoute[],
  services: readonly ServiceToSize[],
  window: CostWindow,
  memory: CostMemory,
): UnexplainedMiss[] {
  const { objective, prices } = window.application;
  const quantile = normalQuantile(objective.percentile);
  const routes = routesToHold(missed, window, memory, serviceIndex(services.map(({ name }) => name)));
  const cost = new ApplicationCost(services, routes, {
    prices,
    missPerHour: 0,
    objectiveSeconds: window.verdict.objective.tailSeconds,
    quantile,
    loads: [{ factor: 1, weight: 1 }],
    changeRatio: 0,
    lateRatio: 0,
    warmUpRatio: 0,
  });
  // Requests fail for want of a node: what other services hold is that room, and no reason to keep it.
  const isNodeShort = window.observations.some(lacksPods);
  return missed.flatMap((route, number): UnexplainedMiss[] => {
    const { budget: allowed, objectiveSeconds, spread } = cost.routeOf(number);
    const { errorRatio, latency } = route.flow;
    const failed = isNodeShort ? 0 : errorRatio;
    const overRatio = failed + (1 - errorRatio) * measuredShareOver(latency, objectiveSeconds);
    const tailSeconds = cost.tailOf(number) * Math.exp(cost.sigmaOf(number));
    const expected = shareOver({ tailSeconds, quantile, spread, sigma: 0 }, objectiveSeconds);
    // Of a tail that is as predicted the share over the objective follows from the measured distribution, not from the model's.
    const isTailExplained =
      failed <= allowed && flowTailSeconds(latency, objective.percentile) <= tailSeconds;
    if (isTailExplained || overRatio <= Math.max(expected, allowed)) return [];
    return [{ route, overRatio, expectedRatio: cost.overOf(number) }];
  });
}

/** What it takes is that of a queue before more replicas served. */
export const isUnsettled = ({ draining, settling, unproven }: Observation): boolean =>
  draining || settling || unproven;

/** Replicas were asked for that do not serve yet, and do not wait for a node. */
export const isStarting = ({
  baseReplicas,
  readyReplicas = baseReplicas,
  unscheduled,
}: Observation): boolean => readyReplicas + unscheduled < baseReplicas;

/** It has no pod at all, since no node has room for one. */
const lacksPods = ({ readyReplicas, unscheduled }: Observation): boolean =>
  readyReplicas === 0 && unscheduled > 0;
