import type { PredictedRoute, PredictedService } from "@tradewind/core/contract/what-if.ts";
import type { SupposedService, WhatIfAnswer, WhatIfRequest } from "@tradewind/core/contract/what-if.ts";
import type { Size } from "../../facts/size.ts";
import { TAIL_QUANTILE } from "../../../models/route/lognormal.ts";
import type { ApplicationCost } from "./application-cost.ts";
import type { WhatIf } from "./what-if.ts";

/** What models expect of sizes and of a load. */
export type Supposition = Pick<WhatIfAnswer, "load" | "routes" | "services" | "costPerHour" | "overRatio">;

/**
 * What the models of a decision expect at other sizes and another load, by the evaluation that the decision was made by:
 * the sizes decided on give what it came to, to the last bit.
 * @throws RangeError of a service that is on no user's route
 */
export function suppose(
  models: WhatIf,
  { load, services }: Pick<WhatIfRequest, "load" | "services">,
): Supposition {
  const current = models.models(1);
  const supposed = models.models(load);
  const numberOf = new Map(current.services.map(({ name }, number) => [name, number]));
  const changed = new Set<number>();
  for (const wanted of services) {
    const number = numberOf.get(wanted.service);
    if (number === undefined) throw new RangeError(`'${wanted.service}' is on no user's route`);
    changed.add(number);
    supposed.set(number, sizeOf(supposed.sizeOf(number), wanted));
  }
  const listed = changed.size === 0 ? current.services.keys() : changed;
  const answer: Supposition = {
    load: { now: current.loadRatio, then: supposed.loadRatio },
    routes: routesOf(current, supposed),
    services: Array.from(listed, (number) => ({
      service: current.services[number]?.name ?? "",
      isModelled: current.services[number]?.own !== undefined && current.routesThrough(number).length > 0,
      now: serviceAt(current, number),
      then: serviceAt(supposed, number),
    })),
    costPerHour: { now: current.bill(), then: supposed.bill() },
    overRatio: { now: current.expectedOver(), then: supposed.expectedOver() },
  };
  // Self times at the sizes asked about are not kept until the next decision.
  current.forgetOtherSizes();
  return answer;
}

const sizeOf = (now: Size, { cpuCores, memoryBytes, replicas }: SupposedService): Size => ({
  replicas: replicas ?? now.replicas,
  cpuCores: cpuCores ?? now.cpuCores,
  memoryBytes: memoryBytes ?? now.memoryBytes,
});

function routesOf(current: ApplicationCost, supposed: ApplicationCost): Supposition["routes"] {
  const routes = Array.from({ length: current.routeCount }, (_, route) => {
    const { graph, objectiveSeconds, share } = current.routeOf(route);
    const [before, after] = [routeAt(current, route), routeAt(supposed, route)];
    return { route: graph.flow, share, objectiveSeconds, now: before, then: after };
  });
  return routes.sort((a, b) => b.then.latencySeconds - a.then.latencySeconds);
}

function routeAt(cost: ApplicationCost, route: number): PredictedRoute {
  const latencySeconds = cost.tailOf(route);
  const stretch = Math.exp(TAIL_QUANTILE * cost.sigmaOf(route));
  return {
    latencySeconds,
    lowSeconds: latencySeconds / stretch,
    highSeconds: latencySeconds * stretch,
    overRatio: Math.min(1, cost.overOf(route)),
  };
}

function serviceAt(cost: ApplicationCost, number: number): PredictedService {
  const size = cost.sizeOf(number);
  const { requestsPerSecond = 0 } = cost.services[number] ?? {};
  return {
    ...size,
    requestsPerSecond: cost.loadRatio * requestsPerSecond,
    selfTimeSeconds: cost.ownAt(number, size).tailSeconds[0] ?? 0,
  };
}
