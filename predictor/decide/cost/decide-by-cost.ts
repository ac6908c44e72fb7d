import { serviceIndex } from "../../models/route/call-graph.ts";
import { isCalibrated } from "../../models/queue/tracked-profile.ts";
import type { Size } from "../facts/size.ts";
import { countedArrivalRatio } from "./inputs/counted-arrivals.ts";
import { withThrottledWaits } from "../facts/arrival-wait.ts";
import { isCarriedOut } from "../facts/container-size.ts";
import type { Observation } from "../facts/observation.ts";
import { failureReasons, namedServices } from "../facts/reasons.ts";
import type { Targets } from "../facts/target.ts";
import { median } from "../../models/statistics.ts";
import { ApplicationCost } from "./price/application-cost.ts";
import { atLoad, loadPoints } from "./price/cost-inputs.ts";
import type { CostOptions, ServiceToSize } from "./price/cost-inputs.ts";
import { callsAfter } from "./inputs/calls.ts";
import { arrivals, hiddenLoad } from "./inputs/arrivals.ts";
import { growthAtLimit } from "./inputs/growth-at-limit.ts";
import { learn } from "./learn/learn.ts";
import { outlookOf } from "./learn/outlook.ts";
import type { TotalLimits } from "./search/limits.ts";
import { OwnTails } from "./price/own-tails.ts";
import { LARGE } from "./search/descend-together.ts";
import type { CostDecision, CostRequest, Known } from "./inputs/request.ts";
import { levelOf } from "./inputs/residuals.ts";
import type { Residuals } from "./inputs/residuals.ts";
import { meetProvenNeed } from "./search/proven-need.ts";
import { normalQuantile } from "./price/route-cost.ts";
import { routesToHold } from "./inputs/routes-to-hold.ts";
import { logsOf } from "../../nodes/class-speeds.ts";
import { cheapest } from "./search/search.ts";
import { Sensitivities } from "./price/sensitivities.ts";
import { leastPerHour, roomySize, serviceToSize } from "./inputs/services.ts";
import { ownWindows, servicesOfCost, servicesOnRoutes } from "./inputs/services-on-routes.ts";
import { WhatIf } from "./price/what-if.ts";
import { withRises } from "./learn/starts.ts";
import { emptyMemory } from "./learn/state.ts";
import { expectation, targetsOf } from "./targets.ts";
import type { Found } from "./targets.ts";
import { judgeMisses } from "./inputs/services-to-keep.ts";
import {
  isRoomShort,
  lacksRoom,
  stillUnscheduled,
  tradeable,
  unscheduledIn,
  withCalls,
  withoutUnscheduled,
} from "./search/unscheduled.ts";
import type { Unscheduled } from "./search/unscheduled.ts";

/**
 * Sizes for which price, expected misses and changes together cost least over the time that a decision stands:
 *
 * `min p·R(u) + worth·p·R(least)·Σ share_f·loss_f(u) / (1 − percentile) + changes`
 *
 * with `loss_f` the expected loss of a request of route f over the load that may come (see `route-cost.ts`), and `R(least)` the
 * least sizes that carry the load. Every service on a user's route has a calibrated model of its own time; the others follow
 * their CPU demand. Pure: equal requests give equal decisions.
 */
export function decideByCost(measured: CostRequest): CostDecision {
  const request = withWaits(measured);
  const learntNow = learnt(request);
  const { level } = learntNow;
  const waiting = request.observations.filter(
    (one) => learntNow.onRoute.has(one.service) && !isModelled(one, learntNow),
  );
  if (waiting.length > 0) {
    const reasons = [{ code: "models-missing", ...namedServices(waiting) } as const];
    return { memory: learntNow.memory, level, targets: undefined, reasons };
  }
  const { toKeep, unexplained } = judgeMisses(request, learntNow);
  const growth = growthAtLimit(request, learntNow, unexplained);
  const { memory } = growth;
  const known = { ...learntNow, memory, toKeep, grownCores: growth.cores };
  const { atBase, ...found } = cheapestOf(request, known);
  const { cost } = found;
  const targets = targetsOf(request, known, found);
  const { application, windowSet } = request.context;
  const adopted: Targets = isCarriedOut(application) ? targets : new Map();
  const services = withRises(memory.services, request.observations, adopted, windowSet.endMs);
  const failures = failureReasons(request.verdict, application.objective);
  const reasons = [...failures, ...growth.reasons, expectation(cost, known)];
  cost.forgetOtherSizes();
  const sensitivities = new Sensitivities(cost, application.prices);
  return {
    memory: { ...memory, services },
    level,
    targets,
    reasons,
    sensitivities,
    whatIf: new WhatIf(atBase),
  };
}

/** The request with the waits for throttled services as their self time, see {@link withThrottledWaits}. */
function withWaits(request: CostRequest): CostRequest {
  const { context } = request;
  const { application, windowSet } = context;
  const own = ownWindows(request);
  const waited = withThrottledWaits(own, 1 - application.objective.percentile);
  const later = new Map(own.map((window, place) => [window, waited[place] ?? window]));
  return {
    ...request,
    context: {
      ...context,
      windowSet: { ...windowSet, windows: windowSet.windows.map((window) => later.get(window) ?? window) },
    },
    observations: request.observations.map((one) =>
      one.window === undefined ? one : { ...one, window: later.get(one.window) ?? one.window },
    ),
  };
}

const NO_RESIDUALS: Residuals = new Map();

/** What is known after this window. */
function learnt(request: CostRequest): Known {
  const { context, observations, settings, verdict } = request;
  const { application, missing, windowSet } = context;
  const entry = observations.find(({ service }) => service === application.entry);
  const counted = countedArrivalRatio(entry, verdict.requestsPerSecond, windowSet.flows.length);
  const calls = callsAfter(request, request.memory?.services ?? []);
  const { intended, loads, perSecond } = arrivals(request, counted ?? 1, request.memory?.routes, calls);
  const memory = learn(request.memory ?? emptyMemory(settings.startSeconds), {
    windowSet: { ...windowSet, windows: ownWindows(request) },
    observations,
    verdict,
    arrivalsPerSecond: perSecond,
    calls,
    percentile: application.objective.percentile,
    isComplete: missing === undefined,
    settings,
  });
  const models = new Map(memory.services.map((each) => [each.service, each]));
  const onRoute = new Set([...servicesOnRoutes(request, verdict.flows), ...intended.keys()]);
  const hidden = observations.map((one) =>
    onRoute.has(one.service) ? hiddenLoad(one, models.get(one.service), loads.get(one.service)) : 1,
  );
  const outlook = outlookOf(memory.outlook, {
    horizonMs: 1e3 * memory.startSeconds,
    holdMs: 1e3 * settings.standSeconds,
    usesSeasons: settings.seasons,
    surgeRatio: hidden.reduce((most, each) => Math.max(most, each), request.surgeRatio ?? 1),
  });
  const warmUps = memory.services.flatMap(({ warmUpFactor }) => warmUpFactor ?? []);
  const warmUpFactor = warmUps.length === 0 ? undefined : median(warmUps);
  const { residuals = NO_RESIDUALS } = request;
  const level = levelOf(
    observations.filter(({ service }) => onRoute.has(service)),
    residuals,
  );
  const awaited = new Set(intended.keys());
  const classLogs = logsOf(memory.classSpeeds);
  const classRooms = new Map(classLogs.size === 0 ? [] : Object.entries(request.roomByNodeClass ?? {}));
  return {
    models,
    memory,
    loads,
    outlook,
    onRoute,
    toKeep: new Set(),
    grownCores: new Map(),
    awaited,
    warmUpFactor,
    residuals,
    level,
    classLogs,
    classRooms,
  };
}

/** It has a calibrated model, or nothing of it could be changed: no containers are known of it, or none serves. */
function isModelled({ container, service, window }: Observation, { models }: Known): boolean {
  if (container === undefined || !((window?.replicasReady ?? 0) > 0)) return true;
  const profile = models.get(service)?.profile;
  return profile !== undefined && isCalibrated(profile);
}

const MOST_STEPS = 2_000;

const NONE: Size = { replicas: 0, cpuCores: 0, memoryBytes: 0 };

interface Searched {
  readonly cost: ApplicationCost;
  /** What CPU use proves necessary has room. */
  readonly isEnough: boolean;
}

interface Cheapest extends Found {
  /** The same models at the sizes that the decision started from, and at this many times the load that it planned for. */
  readonly atBase: (loadRatio?: number) => ApplicationCost;
}

/**
 * @param sized the services that are sized together
 * @param isLarge many services are searched
 */
function limitsOf(
  { allNodes, context, nodes, observations }: CostRequest,
  sized: ReadonlySet<string>,
  isLarge: boolean,
): TotalLimits {
  const { pods } = context.application.budget;
  // Services off every route take their pods of the budget first: nothing here says what they could do without.
  const elsewhere = observations.reduce(
    (sum, { baseReplicas, service }) => sum + (sized.has(service) ? 0 : baseReplicas),
    0,
  );
  // Where no container can grow nothing competes with pods: those that wait are placed as room comes.
  const isByNode = observations.some(({ resizable }) => resizable.cpu);
  return {
    ...(pods !== undefined && { pods: Math.max(0, pods - elsewhere) }),
    ...(allNodes && { cpuCores: allNodes.cpuCores }),
    ...(nodes && isByNode && { nodes, mayWait: isLarge }),
  };
}

/** What is searched, and how. */
interface Searches {
  readonly services: readonly ServiceToSize[];
  /** Those that are sized, in the order of {@link services}. */
  readonly routed: readonly Observation[];
  readonly limits: TotalLimits;
  readonly atBase: (sized: readonly ServiceToSize[]) => Cheapest["atBase"];
  readonly search: (sized: readonly ServiceToSize[], within: TotalLimits) => Searched;
}

function searchesOf(request: CostRequest, known: Known): Searches {
  const { context, settings } = request;
  const { objective, prices } = context.application;
  const { memory, onRoute, outlook } = known;
  const { routed, services } = servicesOfCost(request, onRoute, (one) => serviceToSize(one, request, known));
  const index = serviceIndex(services.map(({ name }) => name));
  const routes = routesToHold(request, known, index).map(({ route }) => route);
  const least = routed.reduce(
    (sum, one, at) => sum + leastPerHour(one, services[at]?.floor ?? NONE, request, known),
    0,
  );
  const options: CostOptions = {
    prices,
    missPerHour: settings.worth * least,
    budget: 1 - objective.percentile,
    quantile: normalQuantile(objective.percentile),
    loads: loadPoints(outlook),
    changeRatio: memory.startSeconds / settings.standSeconds,
    lateRatio: settings.shrinkSeconds / (settings.shrinkSeconds + settings.standSeconds),
    warmUpRatio: Math.min(1, settings.youngSeconds / settings.standSeconds),
  };
  const limits = limitsOf(request, new Set(routed.map(({ service }) => service)), services.length >= LARGE);
  const owns = new OwnTails(services, options.loads);
  const atBase =
    (sized: readonly ServiceToSize[]) =>
    (loadRatio = 1): ApplicationCost =>
      loadRatio === 1
        ? new ApplicationCost(sized, routes, options, owns)
        : new ApplicationCost(sized, routes, atLoad(options, loadRatio));
  const search = (sized: readonly ServiceToSize[], within: TotalLimits): Searched => {
    const roomy = routed.flatMap((one, at) => {
      const service = sized[at];
      return service === undefined ? [] : [roomySize(one, service, request, known)];
    });
    const cost = cheapest(atBase(sized), roomy, within, MOST_STEPS);
    return { cost, isEnough: meetProvenNeed(cost, routed, within, request, known) };
  };
  return { services, routed, limits, atBase, search };
}

/**
 * Where nodes have no room for all that would be worth its price it is searched twice: for what serves, and for what it would be if nodes
 * came. The replicas between the two wait for them.
 */
function cheapestOf(request: CostRequest, known: Known): Cheapest {
  const { atBase, limits, routed, search, services } = searchesOf(request, known);
  const { comingCores = 0, nodes } = request;
  const canCome = comingCores > 0;
  const isWaiting = routed.some(({ unscheduled }) => unscheduled > 0);
  const first = isWaiting ? undefined : search(services, limits);
  if (first?.isEnough === true && !lacksRoom(first.cost, limits, canCome) && (!canCome || first.cost.isMet()))
    return { cost: first.cost, unscheduled: new Map(), atBase: atBase(services) };
  const { cost: whole } = search(services, withNodes(limits, comingCores));
  const unscheduled = unscheduledIn(routed, whole, canCome);
  if (!canCome && isRoomShort(services, unscheduled, nodes)) return traded(request, known, unscheduled);
  const serving = services.map((each) => withoutUnscheduled(each, unscheduled));
  const { cost } = first ?? search(serving, limits);
  const within = canCome && nodes !== undefined ? { ...limits, nodes } : limits;
  return { cost, unscheduled: withCalls(unscheduled, cost, whole, within), atBase: atBase(serving) };
}

/** The same where nodes with so many cores come for what waits. */
const withNodes = ({ cpuCores, ...limits }: TotalLimits, comingCores: number): TotalLimits => ({
  ...limits,
  ...(cpuCores !== undefined && { cpuCores: cpuCores + comingCores }),
  mayWait: true,
});

/**
 * Where pods wait for CPU that no node has, the CPU that all services hold goes to what lowers the cost most at the current load. Load
 * that may come or that full services may hide is left out: it asks for more of everything, and nobody would give up a pod.
 */
function traded(request: CostRequest, known: Known, unscheduled: Unscheduled): Cheapest {
  const now = { ...known, outlook: { ...known.outlook, ratio: 1 } };
  const { atBase, limits, routed, search, services } = searchesOf(request, now);
  const serving = services.map((each) => tradeable(each, unscheduled));
  const { cost } = search(serving, { ...limits, isTraded: true });
  const roomFor = routed.filter(({ service }) => unscheduled.has(service));
  return { cost, unscheduled: stillUnscheduled(unscheduled, cost), roomFor, atBase: atBase(serving) };
}
