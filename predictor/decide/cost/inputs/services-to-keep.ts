import { serviceIndex } from "../../../models/route/call-graph.ts";
import { flowTailSeconds, shareOver as measuredShareOver } from "../../facts/objective.ts";
import type { Observation } from "../../facts/observation.ts";
import type { FlowVerdict } from "../../facts/verdict.ts";
import { ApplicationCost } from "../price/application-cost.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import type { CostRequest, Known } from "./request.ts";
import { normalQuantile, shareOver } from "../price/route-cost.ts";
import { routesToHold } from "./routes-to-hold.ts";
import { serviceToSize } from "./services.ts";
import { servicesOfCost, servicesOnRoutes } from "./services-on-routes.ts";

/** A route that misses its objective by more than the models make of what runs. */
export interface UnexplainedMiss {
  readonly measured: FlowVerdict;
  /** Share of its requests that are over the objective or failed, and the one that the models expect. */
  readonly overRatio: number;
  readonly expectedRatio: number;
}

/** What the models make of the routes that miss their objective. */
export interface JudgedMisses {
  readonly toKeep: ReadonlySet<string>;
  readonly unexplained: readonly UnexplainedMiss[];
}

/**
 * Routes that the models do not explain, and services of which nothing is taken while routes through them miss their objective. Those on routes that miss it by more than the models
 * make of what runs, with their own error: what they could do without nobody knows. A miss that the models explain is no reason to keep
 * what does not help against it. Nor are requests that fail while a service of the application has no pod at all, for no node has room
 * for one: what others hold is that room. And those whose replicas have not begun to serve: that they do not help nobody has seen.
 */
export function judgeMisses(request: CostRequest, known: Known): JudgedMisses {
  const { objective, prices } = request.context.application;
  const missed = request.verdict.flows.filter(({ severity }) => severity > 1);
  if (missed.length === 0) return { toKeep: new Set(), unexplained: [] };
  const passed = servicesOnRoutes(request, missed);
  const { services } = servicesOfCost(request, passed, (one) => running(one, request, known));
  const held = routesToHold(request, known, serviceIndex(services.map(({ name }) => name)), missed);
  const quantile = normalQuantile(objective.percentile);
  const routes = held.map(({ route }) => route);
  const cost = new ApplicationCost(services, routes, {
    prices,
    missPerHour: 0,
    budget: 1 - objective.percentile,
    quantile,
    loads: [{ factor: 1, weight: 1 }],
    changeRatio: 0,
    lateRatio: 0,
    warmUpRatio: 0,
  });
  const isAbsentKnown = request.observations.some(isAbsent);
  const explained = new Set<string>();
  const unexplained: UnexplainedMiss[] = [];
  for (const [at, { measured, route }] of held.entries()) {
    const { errorRatio, flow, latency } = measured.flow;
    const { objectiveSeconds, spread } = route;
    const late = (1 - errorRatio) * measuredShareOver(latency, objectiveSeconds);
    const failed = isAbsentKnown ? 0 : errorRatio;
    const tailSeconds = cost.tailOf(at) * Math.exp(cost.sigmaOf(at));
    const expected = shareOver({ tailSeconds, quantile, spread, sigma: 0 }, objectiveSeconds);
    const allowed = 1 - objective.percentile;
    // Of a tail that is as predicted the share beyond the objective is what the measured distribution makes of it, not the model's.
    const isTailExplained =
      failed <= allowed && flowTailSeconds(latency, objective.percentile) <= tailSeconds;
    if (isTailExplained || failed + late <= Math.max(expected, allowed)) explained.add(flow);
    else unexplained.push({ measured, overRatio: failed + late, expectedRatio: cost.overOf(at) });
  }
  const left = missed.filter(({ flow }) => !explained.has(flow.flow));
  const awaited = left.length > 0 ? known.awaited : [];
  const starting = request.observations.filter((one) => passed.has(one.service) && isStarting(one));
  const names = starting.map(({ service }) => service);
  return { toKeep: new Set([...servicesOnRoutes(request, left), ...awaited, ...names]), unexplained };
}

/** Replicas were asked for that do not serve yet, and do not wait for a node. */
export const isStarting = ({
  baseReplicas,
  readyReplicas = baseReplicas,
  unscheduled,
}: Observation): boolean => readyReplicas + unscheduled < baseReplicas;

const isAbsent = ({ readyReplicas, unscheduled }: Observation): boolean =>
  readyReplicas === 0 && unscheduled > 0;

/** The service at the size that runs. */
function running(one: Observation, request: CostRequest, known: Known): ServiceToSize {
  const each = serviceToSize(one, request, known);
  const { cpuCores = each.base.cpuCores } = one.runningContainer ?? {};
  const { readyReplicas: replicas = each.base.replicas } = one;
  const base = { ...each.base, cpuCores, replicas };
  return { ...each, base, floor: base, ceiling: base };
}
