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
  const now = models.models(1);
  const then = models.models(load);
  const numberOf = new Map(now.services.map(({ name }, at) => [name, at]));
  const asked = new Set<number>();
  for (const one of services) {
    const at = numberOf.get(one.service);
    if (at === undefined) throw new RangeError(`'${one.service}' is on no user's route`);
    asked.add(at);
    then.set(at, sizeOf(then.sizeOf(at), one));
  }
  const listed = asked.size === 0 ? now.services.keys() : asked;
  const found: Supposition = {
    load: { now: now.loadRatio, then: then.loadRatio },
    routes: routesOf(now, then),
    services: Array.from(listed, (at) => ({
      service: now.services[at]?.name ?? "",
      isModelled: now.services[at]?.own !== undefined && now.routesThrough(at).length > 0,
      now: serviceAt(now, at),
      then: serviceAt(then, at),
    })),
    costPerHour: { now: now.bill(), then: then.bill() },
    overRatio: { now: now.expectedOver(), then: then.expectedOver() },
  };
  // What was asked about is not kept until the next decision.
  now.forgetOtherSizes();
  return found;
}

const sizeOf = (now: Size, { cpuCores, memoryBytes, replicas }: SupposedService): Size => ({
  replicas: replicas ?? now.replicas,
  cpuCores: cpuCores ?? now.cpuCores,
  memoryBytes: memoryBytes ?? now.memoryBytes,
});

function routesOf(now: ApplicationCost, then: ApplicationCost): Supposition["routes"] {
  const routes = Array.from({ length: now.routeCount }, (_, route) => {
    const { graph, objectiveSeconds, share } = now.routeOf(route);
    const [before, after] = [routeAt(now, route), routeAt(then, route)];
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

function serviceAt(cost: ApplicationCost, at: number): PredictedService {
  const size = cost.sizeOf(at);
  const { requestsPerSecond = 0 } = cost.services[at] ?? {};
  return {
    ...size,
    requestsPerSecond: cost.loadRatio * requestsPerSecond,
    selfTimeSeconds: cost.ownAt(at, size).tailSeconds[0] ?? 0,
  };
}
