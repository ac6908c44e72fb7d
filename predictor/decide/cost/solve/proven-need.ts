import { roundedUp } from "../../facts/size.ts";
import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize, TotalLimits } from "../price/cost-inputs.ts";
import { Totals } from "./limits.ts";

/**
 * Adds CPU until every service has what it is to have whatever models expect, see `ServiceDemand.neededCores`. Containers keep CPU that
 * they run with, which takes no time, before replicas are added. The pods of the budget bound it, the CPU of all nodes does not, but
 * where pods are traded: a pod that waits calls for a node.
 * @param isBound nodes are called for apart from it: then the CPU of all nodes bounds it too, so that what fits is what is worth most
 * @returns whether nodes have CPU left for all of it
 */
export function meetProvenNeed(cost: ApplicationCost, limits: TotalLimits, isBound = false): boolean {
  const { cpuCores: _, ...others } = limits;
  const totals = new Totals(cost, isBound || limits.isTraded === true ? limits : others);
  const take = (number: number, size: Size): void => {
    totals.change(number, cost.sizeOf(number), size);
    cost.set(number, size);
  };
  let isEnough = true;
  for (const [number, service] of cost.services.entries()) {
    const neededCores = (service.demand?.neededCores ?? 0) * (1 - SLACK);
    const isAllowed = (size: Size): boolean => totals.allows(number, cost.sizeOf(number), size);
    const larger = largerSizes(service, cost.sizeOf(number), neededCores).find(isAllowed);
    if (larger !== undefined) take(number, larger);
    for (let size = cost.sizeOf(number); size.replicas * size.cpuCores < neededCores;) {
      const oneMore = { ...size, replicas: size.replicas + 1 };
      if (oneMore.replicas > service.ceiling.replicas || !isAllowed(oneMore)) {
        const isRefused = totals.headroom?.allows(number, size, oneMore) === false;
        if (isRefused || (isBound && oneMore.replicas <= service.ceiling.replicas)) isEnough = false;
        break;
      }
      take(number, oneMore);
      size = oneMore;
    }
  }
  return isEnough;
}

/**
 * With containers of as much CPU as is needed: no more than they run with. Where that is only a request, first up to what they may have
 * and their nodes have left.
 */
function largerSizes(
  { ceiling, demand, runningCores = 0, stepCpuCores }: ServiceToSize,
  size: Size,
  neededCores: number,
): Size[] {
  if (stepCpuCores === 0 || size.replicas * size.cpuCores >= neededCores) return [];
  const enough = roundedUp(neededCores / Math.max(1, size.replicas), stepCpuCores);
  const mostCores = Math.min(ceiling.cpuCores, enough);
  const keptCores = Math.min(mostCores, runningCores);
  return (demand?.isUnlimited === true ? [mostCores, keptCores] : [keptCores])
    .filter((cpuCores) => cpuCores > size.cpuCores)
    .map((cpuCores) => Object.assign({}, size, { cpuCores }));
}
