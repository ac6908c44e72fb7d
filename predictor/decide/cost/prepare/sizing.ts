import { costPerHour } from "@tradewind/core/contract/prices.ts";
import { hasCpuLimits } from "@tradewind/core/measure/main-containers.ts";
import { accuracyOf, isOutdone } from "../../../models/level/level-memory.ts";
import { demandOf } from "../../../models/queue/tracked-profile.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { provenCores } from "../../facts/need.ts";
import type { Observation } from "../../facts/observation.ts";
import { roundedUp } from "../../facts/size.ts";
import type { Size } from "../../facts/size.ts";
import { bounded } from "../../facts/target.ts";
import { hasYoung } from "../../facts/young.ts";
import type { CostWindow } from "../learn/cost-window.ts";
import { AGAIN_MS } from "../learn/outlook.ts";
import type { LoadOutlook } from "../learn/outlook.ts";
import { loadPoints } from "../price/cost-inputs.ts";
import type { CostOptions, ServiceToSize } from "../price/cost-inputs.ts";
import { normalQuantile } from "../price/route-cost.ts";
import { LEAST_GROWTH } from "../../../window/surge.ts";
import { withReserves } from "./reserve.ts";
import { NO_SIZE, ROUNDING } from "./service-now.ts";
import type { ServiceNow, ServicesNow } from "./service-now.ts";

/** Replicas that a decision may ask for beyond the factor of growth, as the scaler's guard allows. */
const GROWTH_PODS = 4;

/** Share of replicas and of CPU that is kept at least of a service whose models do worse than a rule of one line. */
const NEAR = 0.8;

/** What bounds the size of services beside their own settings and load. */
export interface SizeRules {
  /** Services of which nothing is taken. */
  readonly keptServices: ReadonlySet<string>;
  /** Services that wait for something else than their CPU: no more of them is bought than their load asks for. */
  readonly heldUp: { has(service: string): boolean };
  /** CPU of all containers that measured misses ask for, cores by service. */
  readonly grownCores: ReadonlyMap<string, number>;
  /** Least replicas by service for queues that no CPU ends. */
  readonly queueReplicas: ReadonlyMap<string, number>;
  /** Requests per second that fail before they reach a service. */
  readonly lostPerSecond: ReadonlyMap<string, number>;
  /** Pods wait for a node, and nothing of the window is missing. */
  readonly isFull: boolean;
  /** Nodes are too small for a surge. */
  readonly isTight: boolean;
}

/** Services with their bounds at a load, and what their sizes and misses cost there. */
export interface Sizing {
  /** First those with a workload, then the others that requests pass. */
  readonly services: readonly ServiceToSize[];
  readonly options: CostOptions;
}

/** @param startSeconds from a decision to pods that serve */
export function sizingAt(
  outlook: LoadOutlook,
  { measured, passed }: ServicesNow,
  rules: SizeRules,
  window: CostWindow,
  startSeconds: number,
): Sizing {
  const { objective, prices } = window.application;
  const { shrinkSeconds, standSeconds, youngSeconds } = window.settings.cost;
  const sizable = measured.map((service) => sized(service, outlook, rules, window));
  const leastPerHour = measured.reduce((sum, service, number) => {
    const { floor = NO_SIZE, demand } = sizable[number] ?? {};
    return sum + leastPriceOf(service.observation, floor, demand?.cores ?? 0, window);
  }, 0);
  const options = {
    prices,
    missPerHour: leastPerHour,
    objectiveSeconds: window.verdict.objective.tailSeconds,
    quantile: normalQuantile(objective.percentile),
    loads: loadPoints(outlook),
    changeRatio: startSeconds / standSeconds,
    lateRatio: shrinkSeconds / (shrinkSeconds + standSeconds),
    warmUpRatio: Math.min(1, youngSeconds / standSeconds),
  };
  const reserved = withReserves(sizable, window.platform, {
    surge: window.settings.cost.mostGrowth,
    targetUtilisation: window.settings.targetUtilisation,
    loadRatio: Math.min(mayCome(outlook), (LEAST_GROWTH * outlook.usualRatio) / outlook.ratio),
  });
  return { services: [...reserved, ...passed], options };
}

/** The service with its bounds, and what its load asks for. */
function sized(
  service: ServiceNow,
  outlook: LoadOutlook,
  rules: SizeRules,
  window: CostWindow,
): ServiceToSize {
  const { fixed, observation } = service;
  const { cost } = window.settings;
  const cores = demandCores(service, outlook.ratio);
  const grownCores = rules.grownCores.get(fixed.name) ?? 0;
  const isBehindFailures = rules.lostPerSecond.has(fixed.name);
  return {
    ...fixed,
    ...(fixed.own && bounds(service, cores, rules, window)),
    demand: {
      cores,
      neededCores: neededCores(
        observation,
        { cores, ratio: outlook.levelRatio, grownCores, isBehindFailures },
        cost,
      ),
      roomyReplicas: roomyReplicas(service, cores, outlook, cost),
      isUnlimited: isUnlimited(observation),
    },
  };
}

/** CPU that the load to come asks for, cores. */
function demandCores({ fixed, model, observation }: ServiceNow, loadRatio: number): number {
  const demand = model && demandOf(model.profile);
  const { cpuSecondsPerRequest = 0, housekeepingCores = 0 } = demand ?? {};
  return (
    fixed.requestsPerSecond * loadRatio * cpuSecondsPerRequest +
    housekeepingCores * Math.max(1, observation.baseReplicas)
  );
}

/** Replicas of the size asked for that carry this many cores at a utilisation, on the nodes where they would run. */
function replicasFor({ fixed, speeds }: ServiceNow, cores: number, utilisation: number): number {
  const replicas = cores / utilisation / Math.max(fixed.base.cpuCores, ROUNDING);
  return speeds?.replicasFor(replicas) ?? replicas;
}

function bounds(
  service: ServiceNow,
  cores: number,
  { heldUp, isFull, isTight, keptServices, queueReplicas }: SizeRules,
  window: CostWindow,
): Pick<ServiceToSize, "floor" | "ceiling"> {
  const { endMs, platform, settings } = window;
  const { cost } = settings;
  const { model, observation, resizeCores } = service;
  const { base, name, runningCores = base.cpuCores } = service.fixed;
  const [isHeldUp, isKept] = [heldUp.has(name), keptServices.has(name)];
  const { readyReplicas = base.replicas, resizable, spec } = observation;
  const grownReplicas = Math.ceil(cost.mostGrowth * readyReplicas) + GROWTH_PODS;
  const forQueue = Math.min(queueReplicas.get(name) ?? 0, grownReplicas);
  const usable = Math.min(grownReplicas, usableReplicas(service, cores, isTight, window));
  const mostReplicas = Math.max(base.replicas, isHeldUp ? forQueue : usable);
  const needed = Math.ceil(replicasFor(service, cores, cost.mostUtilisation) - ROUNDING);
  const byLoad = resizable.cpu ? 1 : Math.min(mostReplicas, needed);
  // Where a container may be killed for memory another serves meanwhile.
  const isCrashing = endMs - (model?.killedMs ?? Number.NEGATIVE_INFINITY) < AGAIN_MS;
  const accuracy = accuracyOf(model?.level);
  const nearShare = cost.network && accuracy !== undefined && isOutdone(accuracy) ? NEAR : 0;
  const nearReplicas = Math.ceil(nearShare * base.replicas);
  const leastReplicas = Math.max(byLoad, nearReplicas, forQueue, isCrashing ? 2 : 0);
  const mostCores = Math.min(
    spec.cpu.maxCores,
    cost.mostGrowth * runningCores,
    platform.largestContainer?.cpuCores ?? Number.POSITIVE_INFINITY,
    resizeCores,
  );
  const leastCores = Math.min(
    base.cpuCores,
    roundedUp(Math.max(spec.cpu.minCores, nearShare * base.cpuCores), spec.cpu.stepCores),
  );
  const keptReplicas = Math.max(replicasToKeep(service, isFull), leastReplicas);
  return {
    floor: {
      replicas: bounded(observation, isKept ? keptReplicas : leastReplicas),
      cpuCores: resizable.cpu && !isKept ? leastCores : base.cpuCores,
      memoryBytes: base.memoryBytes,
    },
    ceiling: {
      replicas: bounded(observation, mostReplicas),
      cpuCores: resizable.cpu && !isHeldUp ? Math.max(base.cpuCores, mostCores) : base.cpuCores,
      memoryBytes: base.memoryBytes,
    },
  };
}

/** What still runs of pods that others wait for is given up already. */
function replicasToKeep({ fixed: { base }, observation }: ServiceNow, isFull: boolean): number {
  return isFull ? base.replicas : Math.max(base.replicas, observation.readyReplicas ?? 0);
}

/**
 * Replicas beyond which no more are asked for on nodes that are soon full, where each too many keeps another's out: what pods that start will
 * change is not seen yet, so their load alone says how many are of use.
 */
function usableReplicas(
  service: ServiceNow,
  cores: number,
  isTight: boolean,
  { settings: { targetUtilisation } }: CostWindow,
): number {
  const { baseReplicas, readyReplicas = baseReplicas, unscheduled } = service.observation;
  const isStarting = readyReplicas + unscheduled < baseReplicas;
  return isTight && isStarting
    ? Math.ceil(replicasFor(service, cores, targetUtilisation) - ROUNDING)
    : Infinity;
}

/** Replicas with headroom for the load that may come, and one more. */
function roomyReplicas(
  service: ServiceNow,
  cores: number,
  outlook: LoadOutlook,
  { roomyUtilisation }: CostSettings,
): number {
  return Math.ceil(replicasFor(service, mayCome(outlook) * cores, roomyUtilisation)) + 1;
}

/** Load that may come beyond what is planned for, over that. */
const mayCome = ({ mostRatio, ratio, sigma }: LoadOutlook): number =>
  Math.min(mostRatio / ratio, Math.exp(sigma));

const isUnlimited = ({ window }: Observation): boolean => window !== undefined && !hasCpuLimits(window);

/** What a service needs CPU for. */
interface Need {
  /** For the load to come by its model, cores. */
  readonly cores: number;
  /** Load to come over that of now. */
  readonly ratio: number;
  /** For measured misses, cores of all containers; 0: none. */
  readonly grownCores: number;
  /** Requests fail before they reach it. */
  readonly isBehindFailures: boolean;
}

/**
 * CPU of all containers that the service is to have whatever its model expects, cores; 0: none. What its use proves necessary, and what
 * requests will ask for that fail before they reach it.
 *
 * Containers that can be made smaller keep of the CPU that they run with what the load to come asks for: the floor of their
 * replicas does not ensure it. Whether they grow for it the cost says. A request without a limit above it delays nobody while its node
 * has CPU left, so models know no least size of such containers: they request what the load asks for.
 */
export function neededCores(
  observation: Observation,
  { cores, grownCores, isBehindFailures, ratio }: Need,
  settings: Pick<CostSettings, "mostUtilisation" | "youngSeconds">,
): number {
  const { demand, readyReplicas = 0, resizable, runningContainer, window } = observation;
  // What warming up takes is no demand of the load to come.
  const usedCores = demand === undefined || hasYoung(window, settings) ? 0 : demand.usageCores;
  const proven = Math.max(
    demand === undefined ? 0 : provenCores(demand),
    resizable.cpu ? 0 : usedCores * ratio,
    grownCores,
  );
  const asked = cores / settings.mostUtilisation;
  if (isBehindFailures || (resizable.cpu && isUnlimited(observation))) return Math.max(proven, asked);
  const running = readyReplicas * (runningContainer?.cpuCores ?? 0);
  return Math.max(proven, resizable.cpu ? Math.min(asked, running) : 0);
}

/**
 * Price per hour of the least size that carries the load. Containers that may be made smaller have a floor far under it: theirs
 * is the price of the CPU that the load asks for.
 * @param demandCores CPU that the load asks for
 */
function leastPriceOf(
  { resizable }: Observation,
  floor: Size,
  demandCores: number,
  { application, settings }: CostWindow,
): number {
  if (!resizable.cpu) return costPerHour(floor, application.prices);
  const cores = Math.max(demandCores / settings.cost.mostUtilisation, floor.replicas * floor.cpuCores);
  return costPerHour({ ...floor, cpuCores: cores / Math.max(1, floor.replicas) }, application.prices);
}
