import { hasCpuLimits } from "@tradewind/core/measure/main-containers.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import { provenCores } from "../../facts/need.ts";
import { hasYoung } from "../../facts/young.ts";
import type { Observation } from "../../facts/observation.ts";
import { roundedUp } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import { Totals } from "./limits.ts";
import type { TotalLimits } from "./limits.ts";
import type { CostRequest, Known } from "../inputs/request.ts";
import { demandCores } from "../inputs/services.ts";
import type { DemandKnown } from "../inputs/services.ts";

type NeedKnown = DemandKnown & Pick<Known, "awaited" | "grownCores">;

/**
 * Adds CPU until every service has what its use proves necessary, whatever the models make of it, and what requests will ask for
 * that fail before they reach it. Containers keep CPU that they run with, which takes no time, before replicas are added. The pods
 * of the budget bound it, the CPU of all nodes does not, but where pods are traded: a pod that waits calls for a node.
 *
 * Containers that can be made smaller keep of the CPU that they run with what the load to come asks for, at the utilisation that no size
 * goes beyond: no floor of their replicas does that. Whether they grow for it the cost says.
 *
 * A request without a limit above it delays nobody while its node has CPU left, so models know no least size of such containers.
 * They request what the load to come asks for: what a service uses beyond that is promised to others.
 * @returns whether there was room for all of it
 */
export function meetProvenNeed(
  cost: ApplicationCost,
  observations: readonly Observation[],
  limits: TotalLimits,
  request: Pick<CostRequest, "settings">,
  known: NeedKnown,
): boolean {
  const byName = new Map(observations.map((each) => [each.service, each]));
  const { cpuCores: _, ...others } = limits;
  const totals = new Totals(cost, limits.isTraded === true ? limits : others);
  let isEnough = true;
  for (const [at, { ceiling, name }] of cost.services.entries()) {
    const one = byName.get(name);
    const needed = one === undefined ? 0 : neededCores(one, request, known) * (1 - SLACK);
    enlarge(cost, totals, at, needed, isUnlimited(one));
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

/**
 * Containers of as much CPU as is needed: no more than they run with, or where that is only a request no more than they may have
 * and their nodes have left.
 */
function enlarge(
  cost: ApplicationCost,
  totals: Totals,
  at: number,
  needed: number,
  isRequest: boolean,
): void {
  const { ceiling, runningCores = 0, stepCpuCores } = cost.services[at] as ServiceToSize;
  const size = cost.sizeOf(at);
  if (stepCpuCores === 0 || size.replicas * size.cpuCores >= needed) return;
  const enough = Math.min(ceiling.cpuCores, roundedUp(needed / Math.max(1, size.replicas), stepCpuCores));
  const kept = Math.min(enough, runningCores);
  for (const cpuCores of isRequest ? [enough, kept] : [kept]) {
    const larger = { ...size, cpuCores };
    if (cpuCores <= size.cpuCores || !totals.allows(at, size, larger)) continue;
    totals.change(at, size, larger);
    cost.set(at, larger);
    return;
  }
}

const isUnlimited = (one: Observation | undefined): boolean =>
  one?.window !== undefined && !hasCpuLimits(one.window);

/** 0 where nothing proves any. */
function neededCores(
  one: Observation,
  { settings }: Pick<CostRequest, "settings">,
  known: NeedKnown,
): number {
  const { demand, readyReplicas = 0, resizable, runningContainer, service } = one;
  const proven = Math.max(
    demand === undefined ? 0 : provenCores(demand),
    resizable.cpu ? 0 : measuredCores(one, settings) * known.outlook.ratio,
    known.grownCores.get(service) ?? 0,
  );
  const asked = demandCores(one, known) / settings.mostUtilisation;
  if (known.awaited.has(service) || (resizable.cpu && isUnlimited(one))) return Math.max(proven, asked);
  const running = readyReplicas * (runningContainer?.cpuCores ?? 0);
  return Math.max(proven, resizable.cpu ? Math.min(asked, running) : 0);
}

/**
 * CPU that requests took in the window, whatever the models make of it. Nothing while containers are young: what warming up takes is no
 * demand of the load to come.
 */
const measuredCores = ({ demand, window }: Observation, settings: CostSettings): number =>
  demand === undefined || hasYoung(window, settings) ? 0 : demand.usageCores;
