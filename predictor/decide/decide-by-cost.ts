import type { Application } from "@tradewind/core/contract/application.ts";
import { compileFlow, serviceIndex } from "../endtoend/call-graph.ts";
import type { FlowGraph } from "../endtoend/call-graph.ts";
import { EXPONENTIAL_MEAN_OVER_TAIL } from "../endtoend/flow-tail.ts";
import { demandOf, emptyProfile, isCalibrated, predictOwnTime } from "../models/queue/tracked-profile.ts";
import { roundedUp } from "../plan/plan-service.ts";
import type { Size } from "../plan/plan-service.ts";
import { costPerHour } from "../plan/plan-service.ts";
import type { DecisionContext, Observation } from "../policy/observe/observation.ts";
import type { Verdict } from "../policy/observe/verdict.ts";
import { countedArrivalRatio } from "../policy/observe/load-ahead.ts";
import { bounded, percent, pods } from "../policy/target.ts";
import type { Target, Targets } from "../policy/target.ts";
import { statedSize } from "../policy/observe/container-size.ts";
import { ApplicationCost, loadPoints } from "./application-cost.ts";
import type { CostOptions, RouteToHold, ServiceToSize } from "./application-cost.ts";
import { excessOf, learn } from "./learn.ts";
import { outlookOf } from "./outlook.ts";
import type { LoadOutlook } from "./outlook.ts";
import { normalQuantile, shareOver } from "./route-cost.ts";
import { cheapest } from "./search.ts";
import type { CostSettings } from "./settings.ts";
import { emptyMemory } from "./state.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";

export interface CostRequest {
  readonly context: DecisionContext;
  readonly observations: readonly Observation[];
  readonly verdict: Verdict;
  readonly settings: CostSettings;
  readonly memory: CostMemory | undefined;
  /** See PolicyInputs. */
  readonly surgeRatio: number | undefined;
  readonly largestContainer?: { readonly cpuCores: number } | undefined;
  readonly allNodes?: { readonly cpuCores: number } | undefined;
}

export interface CostDecision {
  readonly memory: CostMemory;
  /** Undefined while a service on a route has no calibrated model: then another level decides. */
  readonly targets: Targets | undefined;
  readonly reason: string;
}

/** Share of requests over the objective that the percentiles measured say, log-normal between them. */
function measuredShareOver({ flows }: Verdict, objectiveSeconds: number): number {
  let [over, requests] = [0, 0];
  for (const { flow } of flows) {
    const { p50Seconds, p95Seconds, p99Seconds } = flow.latency;
    const isFar = objectiveSeconds > p95Seconds;
    const tailSeconds = isFar ? p99Seconds : p95Seconds;
    const quantile = normalQuantile(isFar ? 0.99 : 0.95);
    const spread = Math.max(0.1, Math.log(tailSeconds / p50Seconds) / quantile);
    over += flow.requestsPerSecond * shareOver({ tailSeconds, quantile, spread, sigma: 0 }, objectiveSeconds);
    requests += flow.requestsPerSecond;
  }
  return requests > 0 ? over / requests : 0;
}

const NOTHING = emptyProfile();

/** Replicas that a decision may ask for beyond the factor of growth, as the scaler's guard allows. */
const GROWTH_PODS = 4;

const MOST_STEPS = 2_000;

/**
 * Sizes for which price, expected misses and changes together cost least over the time that a decision stands. Every service
 * on a user's route has a model of its own time; the rest follows its own CPU demand.
 */
export function decideByCost(request: CostRequest): CostDecision {
  const { context, observations, settings, verdict } = request;
  const { application, missing, windowSet } = context;
  const before = request.memory ?? emptyMemory(settings.worth, settings.startSeconds);
  const percentile = application.objective.percentile;
  const isComplete = missing === undefined;
  const entry = observations.find(({ service }) => service === application.entry);
  const counted = countedArrivalRatio(entry, verdict.requestsPerSecond);
  const { arrivalsPerSecond, loads } = arrivals(request, counted ?? 1);
  const learnt = learn(before, { windowSet, observations, verdict, arrivalsPerSecond, percentile, isComplete, settings });
  const objectiveSeconds = application.objective.milliseconds / 1e3;
  const overdraft = measuredShareOver(verdict, objectiveSeconds) / (1 - percentile) - 1;
  const worth = Math.min(
    settings.mostWorth,
    Math.max(settings.worth, learnt.worth * (1 + settings.worthGain * Math.min(1, overdraft))),
  );
  const memory = { ...learnt, worth };
  const models = new Map(memory.services.map((each) => [each.service, each]));
  const onRoute = new Set(verdict.flows.flatMap(({ flow }) => [flow.entryService, ...flow.services]));
  const waiting = observations.filter(
    ({ container, service, window }) =>
      onRoute.has(service) &&
      container !== undefined &&
      (window?.replicasReady ?? 0) > 0 &&
      !isCalibrated(models.get(service)?.profile ?? NOTHING),
  );
  if (waiting.length > 0) {
    const reason = `${waiting.length} of ${onRoute.size} services on users' routes have no calibrated model yet`;
    return { memory, targets: undefined, reason };
  }
  const hidden = observations
    .filter(({ service }) => onRoute.has(service))
    .reduce((most, one) => Math.max(most, hiddenFactor(one, memory)), 1);
  const outlook = outlookOf(memory.outlook, {
    horizonMs: 1e3 * memory.startSeconds,
    holdMs: 1e3 * settings.standSeconds,
    surgeRatio: Math.max(request.surgeRatio ?? 1, hidden),
  });
  return size({ ...request, memory }, { loads, onRoute, outlook, models, worth });
}

/** A container that uses this share of what it can is full: what it would have used with more is not known. */
const FULL_SHARE = 0.95;

/**
 * Load that a full service hides, as a factor: a container throttled in all of its periods may have been asked for twice what
 * it did, and callers that were turned away leave no trace. 1 for a service with room.
 */
function hiddenFactor({ demand, service }: Observation, memory: CostMemory): number {
  if (demand === undefined) return 1;
  const profile = memory.services.find((each) => each.service === service)?.profile;
  const parallelism = (profile && demandOf(profile)?.parallelism) ?? Infinity;
  const isThrottled = demand.podCapacityCores <= parallelism;
  const used = demand.usageCores / demand.podsMeasured / Math.min(demand.podCapacityCores, parallelism);
  if (!(used >= FULL_SHARE)) return 1;
  return isThrottled ? 1 + demand.throttledRatio : 2;
}

interface Arrivals {
  /** Requests that arrive at the application. */
  readonly arrivalsPerSecond: number;
  /** Requests that arrive at each service. */
  readonly loads: ReadonlyMap<string, number>;
}

/**
 * What arrives: what was answered, and of the requests that entered the application beyond that as many as each makes calls
 * of a service.
 * @param counted requests that began over those that were answered
 */
function arrivals({ context, observations, verdict }: CostRequest, counted: number): Arrivals {
  const names = observations.map(({ service }) => service);
  const index = serviceIndex(names);
  const loads = observations.map(({ window }) => window?.requestsPerSecond ?? 0);
  let arrivalsPerSecond = 0;
  for (const { flow } of verdict.flows) {
    const graph = compileFlow(flow, context.windowSet, index);
    const more = (counted - 1) * flow.requestsPerSecond;
    arrivalsPerSecond += flow.requestsPerSecond + more;
    if (graph === undefined) continue;
    for (const [node, visits] of visitsOf(graph).entries()) {
      const service = graph.serviceOf[node] ?? 0;
      loads[service] = Math.max(0, (loads[service] ?? 0) + more * visits);
    }
  }
  return { arrivalsPerSecond, loads: new Map(names.map((name, at) => [name, loads[at] ?? 0])) };
}

/** Calls of each node's service that one request of the flow makes. */
function visitsOf({ callee, calleeStart, callsPerRequest, serviceOf }: FlowGraph): Float64Array {
  const visits = new Float64Array(serviceOf.length);
  visits[visits.length - 1] = 1;
  for (let node = visits.length - 1; node >= 0; node -= 1) {
    for (let at = calleeStart[node] ?? 0; at < (calleeStart[node + 1] ?? 0); at += 1) {
      const to = callee[at] ?? 0;
      visits[to] = (visits[to] ?? 0) + (visits[node] ?? 0) * (callsPerRequest[at] ?? 0);
    }
  }
  return visits;
}

interface Known {
  /** Requests per second that arrive at each service, where that is more than it answered. */
  readonly loads: ReadonlyMap<string, number>;
  readonly onRoute: ReadonlySet<string>;
  readonly outlook: LoadOutlook;
  readonly models: ReadonlyMap<string, ServiceModelMemory>;
  readonly worth: number;
}

function size(request: CostRequest & { readonly memory: CostMemory }, facts: Known): CostDecision {
  const { context, memory, observations, settings, verdict } = request;
  const { application, windowSet } = context;
  const routed = observations.filter(({ service }) => facts.onRoute.has(service));
  const services = routed.map((one) => serviceToSize(one, request, facts));
  const index = serviceIndex(services.map(({ name }) => name));
  const requests = verdict.flows.reduce((sum, { flow }) => sum + flow.requestsPerSecond, 0);
  const remembered = new Map(memory.routes.map((each) => [each.route, each]));
  const routes = verdict.flows.flatMap(({ flow }): RouteToHold[] => {
    const graph = compileFlow(flow, windowSet, index);
    if (graph === undefined) return [];
    const route = remembered.get(flow.flow);
    const { excessSeconds, factor } = route === undefined ? { excessSeconds: 0, factor: 1 } : excessOf(route);
    return [
      {
        graph,
        share: requests > 0 ? flow.requestsPerSecond / requests : 0,
        objectiveSeconds: application.objective.milliseconds / 1e3,
        excessSeconds,
        factor,
        spread: route !== undefined && route.spread > 0 ? route.spread : 0.6,
        sigma: Math.sqrt(route?.square ?? 0.09),
      },
    ];
  });
  const { percentile } = application.objective;
  const { prices } = application;
  const least = services.reduce((sum, { floor }) => sum + costPerHour(floor, prices), 0);
  const options: CostOptions = {
    prices,
    missPerHour: facts.worth * least,
    budget: 1 - percentile,
    quantile: normalQuantile(percentile),
    loads: loadPoints(facts.outlook),
    changeRatio: memory.startSeconds / settings.standSeconds,
  };
  const roomy = services.map((each, at) => roomySize(each, routed[at], settings, facts));
  const limits = {
    ...(application.budget.pods !== undefined && { pods: application.budget.pods }),
    ...(request.allNodes && { cpuCores: request.allNodes.cpuCores }),
  };
  const cost = cheapest(() => new ApplicationCost(services, routes, options), roomy, limits, MOST_STEPS);
  if (process.env["DBG"]) for (const [at, each] of services.entries()) {
    const one = routed[at]!; const d = demandOf(facts.models.get(each.name)!.profile);
    const out = { meanSeconds: 0, tailSeconds: 0, sigma: 0, tailByCores: 0, tailByLoad: 0 };
    each.own?.(cost.sizeOf(at), facts.outlook.ratio*each.requestsPerSecond / cost.sizeOf(at).replicas, out);
    const use = one.window!.containers.reduce((x, c) => x + (c.cpuUsageCores ?? 0), 0);
    console.log("   ", each.name, "n", one.readyReplicas, "base", one.baseReplicas, "->", cost.sizeOf(at).replicas, "c", each.base.cpuCores, "floor", each.floor.replicas, "rps", each.requestsPerSecond.toFixed(1), "use", use.toFixed(2), "use/rps ms", (1e3*use/each.requestsPerSecond).toFixed(2), "s ms", (1e3*(d?.cpuSecondsPerRequest??0)).toFixed(2), "hk", d?.housekeepingCores.toFixed(3), "par", d?.parallelism.toFixed(2), "own p95 ms", (1e3*(one.window!.ownLatency?.p95Seconds??0)).toFixed(1), "pred", (1e3*out.tailSeconds).toFixed(1), "sig", out.sigma.toFixed(2));
  }
  const planned = new Map(services.map(({ name }, at) => [name, cost.sizeOf(at)]));
  const worst = verdict.flows.map((_, route) => cost.tailOf(route)).reduce((a, b) => Math.max(a, b), 0);
  const over = routes.map((route, at) => route.share * cost.overOf(at)).reduce((a, b) => a + b, 0);
  const why =
    `expects ${percent(over)} of requests over the objective at ${facts.outlook.ratio.toFixed(2)} times the load ` +
    `(± ${percent(facts.outlook.sigma)}, ${facts.outlook.forecast}), worth ${facts.worth.toFixed(2)}`;
  const targets: Targets = new Map(
    observations.map((one) => [one.service, targetOf(one, planned.get(one.service), worst, request, facts)]),
  );
  return { memory: { ...memory, services: withRises(memory.services, observations, targets, windowSet.endMs) }, targets, reason: why };
}

/** Notes for which services more replicas were decided on than serve. */
function withRises(
  services: readonly ServiceModelMemory[],
  observations: readonly Observation[],
  targets: Targets,
  nowMs: number,
): ServiceModelMemory[] {
  const byName = new Map(observations.map((each) => [each.service, each]));
  return services.map((each) => {
    const replicas = targets.get(each.service)?.replicas ?? 0;
    const { baseReplicas = replicas, readyReplicas } = byName.get(each.service) ?? {};
    const { rising, ...rest } = each;
    if (replicas <= baseReplicas || readyReplicas === undefined) {
      return rising === undefined || replicas < rising.replicas ? rest : each;
    }
    return rising === undefined ? { ...rest, rising: { sinceMs: nowMs, replicas } } : each;
  });
}

const loadOf = ({ service, window }: Observation, { loads }: Known): number =>
  loads.get(service) ?? window?.requestsPerSecond ?? 0;

function demandCores(one: Observation, facts: Known): number {
  const { cpuSecondsPerRequest = 0, housekeepingCores = 0 } =
    demandOf(facts.models.get(one.service)?.profile ?? NOTHING) ?? {};
  const rate = loadOf(one, facts) * facts.outlook.ratio;
  return rate * cpuSecondsPerRequest + housekeepingCores * Math.max(1, one.baseReplicas);
}

function serviceToSize(
  one: Observation,
  { context, largestContainer, settings }: CostRequest,
  facts: Known,
): ServiceToSize {
  const { container, readyReplicas, resizable, runningContainer, service, spec, window } = one;
  const { application, missing } = context;
  const running = container ?? { cpuCores: 0, memoryBytes: 0 };
  const base: Size = { replicas: one.baseReplicas, ...running };
  const model = facts.models.get(service);
  const { ownLatency } = window ?? {};
  const measured = {
    meanSeconds: ownLatency?.meanSeconds ?? 0,
    tailSeconds: ownLatency?.p95Seconds ?? (ownLatency?.meanSeconds ?? 0) / EXPONENTIAL_MEAN_OVER_TAIL,
  };
  if (model === undefined || container === undefined || !isCalibrated(model.profile)) {
    return { name: service, requestsPerSecond: loadOf(one, facts), base, floor: base, ceiling: base, stepCpuCores: 0, measured };
  }
  const isFixed = missing !== undefined || window?.replicasReady === undefined || window.requestsPerSecond === undefined;
  const least = demandCores(one, facts) / settings.mostUtilisation;
  const cores = isFixed
    ? base.cpuCores
    : resizable.cpu
      ? Math.min(base.cpuCores, roundedUp(spec.cpu.minCores, spec.cpu.stepCores))
      : base.cpuCores;
  const ready = readyReplicas ?? one.baseReplicas;
  const most = Math.max(one.baseReplicas, Math.ceil(settings.mostGrowth * ready) + GROWTH_PODS);
  const needed = Math.ceil(least / Math.max(base.cpuCores, 1e-6) - 1e-6);
  const floorReplicas = Math.min(most, Math.max(1, spec.minReplicas, resizable.cpu ? 1 : needed));
  const mostCores = resizable.cpu
    ? Math.max(base.cpuCores, Math.min(spec.cpu.maxCores, settings.mostGrowth * (runningContainer?.cpuCores ?? base.cpuCores), largestContainer?.cpuCores ?? Infinity))
    : base.cpuCores;
  const limited = runningContainer !== undefined;
  const profile = model.profile;
  return {
    name: service,
    requestsPerSecond: loadOf(one, facts),
    base,
    floor: {
      replicas: bounded(one, isFixed ? Math.max(base.replicas, floorReplicas) : floorReplicas),
      cpuCores: cores,
      memoryBytes: base.memoryBytes,
    },
    ceiling: { replicas: Math.max(bounded(one, most), bounded(one, base.replicas)), cpuCores: mostCores, memoryBytes: base.memoryBytes },
    stepCpuCores: resizable.cpu ? spec.cpu.stepCores : 0,
    measured,
    own: (at, loadPerContainer, out) =>
      predictOwnTime(profile, { cpuCores: limited ? at.cpuCores : undefined, loadPerContainer }, percentileOf(application), out),
  };
}

const percentileOf = ({ objective: { percentile } }: Application): 0.5 | 0.95 | 0.99 =>
  percentile > 0.97 ? 0.99 : percentile > 0.7 ? 0.95 : 0.5;

/** A size with room for the load to come, within the service's bounds. */
function roomySize(
  { base, ceiling }: ServiceToSize,
  one: Observation | undefined,
  settings: CostSettings,
  facts: Known,
): Size {
  if (one === undefined) return base;
  const { mostRatio, ratio, sigma } = facts.outlook;
  const cores = (demandCores(one, facts) * Math.min(mostRatio / ratio, Math.exp(sigma))) / settings.roomyUtilisation;
  const replicas = Math.min(ceiling.replicas, Math.max(base.replicas, 1 + Math.ceil(cores / Math.max(base.cpuCores, 1e-6))));
  return { ...base, replicas };
}

function targetOf(
  one: Observation,
  planned: Size | undefined,
  tailSeconds: number,
  request: CostRequest,
  facts: Known,
): Target {
  const { baseReplicas, need, shrinkNeed, window } = one;
  if (planned === undefined) {
    // Off every route: as many as its own CPU demand takes.
    const enough = shrinkNeed ?? baseReplicas;
    const isMissing = window?.missing !== undefined || window?.requestsPerSecond === undefined;
    const replicas = bounded(one, isMissing || one.settling || one.draining ? Math.max(baseReplicas, need ?? 0) : Math.max(need ?? 0, Math.min(baseReplicas, enough)));
    return { replicas, policy: "reactive", reason: `off users' routes: its CPU demand takes ${pods(replicas)}` };
  }
  const memoryBytes = memoryOf(one, request, facts);
  const replicas = bounded(one, planned.replicas);
  const stated = statedSize(one, { cpuCores: planned.cpuCores, memoryBytes });
  return {
    replicas,
    ...stated,
    policy: "planner-prior",
    reason: replicas === baseReplicas ? `keeps ${pods(replicas)}` : `${baseReplicas} → ${pods(replicas)}`,
    planned: { steps: [], latencyAfterSeconds: tailSeconds, confidence: 0.9, modelHash: EMPTY_HASH },
  };
}

const EMPTY_HASH = "0".repeat(16);

function memoryOf(one: Observation, { settings }: CostRequest, facts: Known): number {
  const current = one.container?.memoryBytes ?? 0;
  const model = facts.models.get(one.service);
  if (model?.memoryPeakBytes === undefined || !one.resizable.memory || current === 0) return current;
  const needed = settings.memoryRatio * model.memoryPeakBytes;
  if (model.windows < 20) return Math.max(current, needed);
  return Math.max(needed, one.spec.memory.minBytes);
}
