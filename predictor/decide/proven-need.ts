import { provenCores } from "../facts/need.ts";
import type { Observation } from "../facts/observation.ts";
import type { ApplicationCost } from "./application-cost.ts";
import { SLACK } from "./cost-inputs.ts";
import { Totals } from "./limits.ts";
import type { TotalLimits } from "./limits.ts";
import type { CostRequest, Known } from "./request.ts";
import { demandCores } from "./services.ts";

/**
 * Adds replicas until every service has the CPU that its use proves necessary, whatever the models make of it, and that which
 * requests will ask for that fail before they reach it. The pods of the budget bound it, the CPU of all nodes does not: a pod that
 * waits calls for a node.
 * @returns whether there was room for all of it
 */
export function meetProvenNeed(
  cost: ApplicationCost,
  observations: readonly Observation[],
  limits: TotalLimits,
  request: CostRequest,
  known: Known,
): boolean {
  const byName = new Map(observations.map((each) => [each.service, each]));
  const { cpuCores: _, ...bounds } = limits;
  const totals = new Totals(cost, bounds);
  let isEnough = true;
  for (const [at, { ceiling, name }] of cost.services.entries()) {
    const one = byName.get(name);
    const needed = one === undefined ? 0 : neededCores(one, request, known) * (1 - SLACK);
    for (let size = cost.sizeOf(at); size.replicas * size.cpuCores < needed; size = cost.sizeOf(at)) {
      const more = { ...size, replicas: size.replicas + 1 };
      if (more.replicas > ceiling.replicas || !totals.allows(at, size, more)) {
        if (totals.rooms?.allows(at, size, more) === false) isEnough = false;
        break;
      }
      totals.change(at, size, more);
      cost.set(at, more);
    }
  }
  return isEnough;
}

/** 0 where nothing proves any. */
function neededCores(one: Observation, { settings }: CostRequest, known: Known): number {
  const { demand, service } = one;
  const proven = demand === undefined ? 0 : provenCores(demand);
  const awaited = known.awaited.has(service) ? demandCores(one, known) / settings.mostUtilisation : 0;
  return Math.max(proven, awaited);
}
