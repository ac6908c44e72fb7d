import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { throttledShare } from "../../facts/demand.ts";
import { isSaturated } from "../../facts/need.ts";
import type { FlowObjective } from "../../facts/objective.ts";
import type { Observation } from "../../facts/observation.ts";
import { MOST_CHARACTERS, namedServices } from "../../facts/reasons.ts";
import { hasYoung } from "../../facts/young.ts";
import type { CostWindow } from "../learn/cost-window.ts";
import type { CostMemory, ServiceModelMemory } from "../learn/state.ts";
import { isStarting, servicesOn } from "./routes.ts";
import type { UnexplainedMiss } from "./routes.ts";

/** Throttled share of the CPU time from which on a limit is what holds a service up; below it stalls are what the models know. */
const LIMITED_SHARE = 0.5;

/** What measured misses ask for, whatever the models expect. */
export interface GrowthAtLimit {
  /** CPU of all containers by service, cores: of those that grow now, and of those that have grown of late. */
  readonly grownCores: ReadonlyMap<string, number>;
  readonly reasons: readonly Reason[];
  /** Objectives that are missed in windows in a row and the models do not see it. */
  readonly doubted: readonly FlowObjective[];
  /** The memory with the windows and the growth counted. */
  readonly memory: CostMemory;
}

/**
 * Measured beats modelled: where a route clearly misses its objective for `settleWindows` windows in a row, and the models
 * do not explain it, its services at their CPU limit grow to what an autoscaler by CPU would ask for, one replica at the least. Windows
 * in which replicas start or may still warm up are not counted: their growth is on its way. What has grown stays for as long as a decision
 * stands: the models that did not see the miss would take it away at once.
 */
export function growthAtLimit(
  window: CostWindow,
  memory: CostMemory,
  misses: readonly UnexplainedMiss[],
): GrowthAtLimit {
  const { endMs, observations, settings } = window;
  const windowsBefore = new Map(memory.routes.map((route) => [route.route, route.unexplainedWindows ?? 0]));
  const windowsOf = new Map<string, number>();
  const coresNow = new Map<string, number>();
  const reasons: Reason[] = [];
  const doubted: FlowObjective[] = [];
  for (const { expectedRatio, overRatio, route } of misses) {
    if (!route.telling || route.severity < settings.clearMissRatio) continue;
    const names = servicesOn([route], window);
    const services = observations.filter(({ service }) => names.has(service));
    const isGrowing = services.some((service) => isOnItsWay(service, settings.cost));
    const { flow } = route.flow;
    const windows = (windowsBefore.get(flow) ?? 0) + (isGrowing ? 0 : 1);
    windowsOf.set(flow, windows);
    if (isGrowing || windows < settings.settleWindows) continue;
    doubted.push(route.objective);
    const full = services.filter(isAtLimit);
    for (const service of full)
      coresNow.set(service.service, coresAtLimit(service, settings.targetUtilisation));
    reasons.push({
      code: "miss-unexplained",
      route: flow.slice(0, MOST_CHARACTERS),
      percentile: route.objective.percentile,
      latencySeconds: route.tailSeconds,
      objectiveSeconds: route.objective.tailSeconds,
      overRatio,
      expectedRatio,
      windows,
      ...namedServices(full),
    });
  }
  const services = memory.services.map((model): ServiceModelMemory => {
    const { grownAtLimit, ...rest }: ServiceModelMemory = model;
    const cores = coresNow.get(model.service);
    if (cores !== undefined) return { ...rest, grownAtLimit: { cores, atMs: endMs } };
    return endMs - (grownAtLimit?.atMs ?? 0) > 1e3 * settings.cost.standSeconds ? rest : model;
  });
  const routes = memory.routes.map(({ unexplainedWindows: _before, ...route }) => {
    const windows = windowsOf.get(route.route);
    return windows === undefined ? route : { ...route, unexplainedWindows: windows };
  });
  const grownCores = services.flatMap(({ grownAtLimit, service }): [string, number][] =>
    grownAtLimit === undefined ? [] : [[service, grownAtLimit.cores]],
  );
  return { grownCores: new Map(grownCores), reasons, doubted, memory: { ...memory, routes, services } };
}

const isOnItsWay = (service: Observation, settings: CostSettings): boolean =>
  service.settling || isStarting(service) || hasYoung(service.window, settings);

/** Its containers are full, or throttled in {@link LIMITED_SHARE} of their CPU time. */
const isAtLimit = ({ demand, window }: Observation): boolean =>
  (demand !== undefined && isSaturated(demand)) || throttledShare(window) > LIMITED_SHARE;

/** What a target utilisation asks for, cores of all containers together. */
function coresAtLimit({ demand, readyReplicas = 0 }: Observation, targetUtilisation: number): number {
  if (demand === undefined) return 0;
  return Math.max(demand.cores / targetUtilisation, (readyReplicas + 1) * demand.podCapacityCores);
}
