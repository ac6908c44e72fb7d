import { MOST_CHARACTERS, namedServices } from "../../facts/reasons.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { throttledShare } from "../../facts/demand.ts";
import { hasYoung } from "../../facts/young.ts";
import { isSaturated } from "../../facts/need.ts";
import type { Observation } from "../../facts/observation.ts";
import type { CostMemory, ServiceModelMemory } from "../learn/state.ts";
import type { CostRequest, Known } from "./request.ts";
import { servicesOnRoutes } from "./services-on-routes.ts";
import { isStarting } from "./services-to-keep.ts";
import type { UnexplainedMiss } from "./services-to-keep.ts";

/** Throttled share of the CPU time from which on a limit is what holds a service up; below it stalls are what the models know. */
const LIMITED_SHARE = 0.5;

/** What measured misses ask for, whatever the models say. */
export interface GrowthAtLimit {
  /** CPU of all containers by service, cores: of those that grow now, and of those that have grown of late. */
  readonly cores: ReadonlyMap<string, number>;
  readonly reasons: readonly Reason[];
  /** The memory with the windows and the growth counted. */
  readonly memory: CostMemory;
}

/**
 * Measured beats modelled: where a route clearly misses its objective for `settleWindows` windows in a row, and the models
 * do not explain it, its services whose containers are at their CPU limit grow to what an autoscaler by CPU would ask for, one replica
 * at the least. Windows in which replicas start or may still warm up are not counted: their growth is on its way. What has grown stays for
 * as long as a decision stands: the models that did not see the miss would take it away at once.
 */
export function growthAtLimit(
  request: CostRequest,
  known: Pick<Known, "memory">,
  misses: readonly UnexplainedMiss[],
): GrowthAtLimit {
  const { memory } = known;
  const { context, observations, settings } = request;
  const { application, windowSet } = context;
  const before = new Map(
    memory.routes.map(({ route, unexplainedWindows = 0 }) => [route, unexplainedWindows]),
  );
  const counted = new Map<string, number>();
  const grownCores = new Map<string, number>();
  const reasons: Reason[] = [];
  for (const miss of misses) {
    const { flow, severity, tailSeconds, telling } = miss.measured;
    if (!telling || severity < context.settings.clearMissRatio) continue;
    const names = servicesOnRoutes(request, [miss.measured]);
    const passed = observations.filter(({ service }) => names.has(service));
    const isGrowing = passed.some((one) => one.settling || isStarting(one) || hasYoung(one.window, settings));
    const windows = (before.get(flow.flow) ?? 0) + (isGrowing ? 0 : 1);
    counted.set(flow.flow, windows);
    if (isGrowing || windows < context.settings.settleWindows) continue;
    const full = passed.filter(isAtLimit);
    for (const one of full)
      grownCores.set(one.service, coresAtLimit(one, context.settings.targetUtilisation));
    reasons.push({
      code: "miss-unexplained",
      route: flow.flow.slice(0, MOST_CHARACTERS),
      percentile: application.objective.percentile,
      latencySeconds: tailSeconds,
      objectiveSeconds: application.objective.milliseconds / 1e3,
      overRatio: miss.overRatio,
      expectedRatio: miss.expectedRatio,
      windows,
      ...namedServices(full),
    });
  }
  const services = memory.services.map((each): ServiceModelMemory => {
    const { grownAtLimit, ...rest }: ServiceModelMemory = each;
    const cores = grownCores.get(each.service);
    if (cores !== undefined) return { ...rest, grownAtLimit: { cores, atMs: windowSet.endMs } };
    const isOver = windowSet.endMs - (grownAtLimit?.atMs ?? 0) > 1e3 * settings.standSeconds;
    return isOver ? rest : each;
  });
  const routes = memory.routes.map((each) => {
    const { unexplainedWindows: _before, ...rest } = each;
    const windows = counted.get(each.route);
    return windows === undefined ? rest : { ...rest, unexplainedWindows: windows };
  });
  const cores = services.flatMap(({ grownAtLimit, service }): [string, number][] =>
    grownAtLimit === undefined ? [] : [[service, grownAtLimit.cores]],
  );
  return { cores: new Map(cores), reasons, memory: { ...memory, routes, services } };
}

/** Its containers are full, or throttled in {@link LIMITED_SHARE} of their CPU time. */
const isAtLimit = ({ demand, window }: Observation): boolean =>
  (demand !== undefined && isSaturated(demand)) || throttledShare(window) > LIMITED_SHARE;

/** What a target utilisation asks for, cores of all containers together. */
function coresAtLimit({ demand, readyReplicas = 0 }: Observation, targetUtilisation: number): number {
  if (demand === undefined) return 0;
  return Math.max(demand.cores / targetUtilisation, (readyReplicas + 1) * demand.podCapacityCores);
}
