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
  const neededCores = (number: number): number =>
    (cost.services[number]?.demand?.neededCores ?? 0) * (1 - SLACK);
  for (const [number, service] of cost.services.entries()) {
    const isAllowed = (size: Size): boolean => totals.allows(number, cost.sizeOf(number), size);
    const larger = largerSizes(service, cost.sizeOf(number), neededCores(number)).find(isAllowed);
    if (larger !== undefined) take(number, larger);
  }
  /** What a service needs over what it has, at most 1 where it has enough. */
  const shortage = (number: number): number => {
    const { cpuCores, replicas } = cost.sizeOf(number);
    return neededCores(number) / (replicas * cpuCores);
  };
  let isEnough = true;
  // The fullest one first: of what does not fit together the scarcest holds up all others.
  const lacking = [...cost.services.keys()].filter((number) => shortage(number) > 1);
  for (const number of lacking.toSorted((a, b) => shortage(b) - shortage(a))) {
    const { ceiling } = cost.services[number] as ServiceToSize;
    while (shortage(number) > 1) {
      const size = cost.sizeOf(number);
      const oneMore = { ...size, replicas: size.replicas + 1 };
      const mayGrow = oneMore.replicas <= ceiling.replicas;
      if (!mayGrow || !totals.allows(number, size, oneMore)) {
        const isRefused = totals.headroom?.allows(number, size, oneMore) === false;
        if (isRefused || (isBound && mayGrow)) isEnough = false;
        break;
      }
      take(number, oneMore);
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
