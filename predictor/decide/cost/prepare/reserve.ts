import type { CostWindow } from "../learn/cost-window.ts";
import { podCores } from "../price/cost-inputs.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import { ROUNDING } from "./service-now.ts";

const requestedBy = (services: readonly ServiceToSize[], kind: "base" | "floor"): number =>
  services.reduce((sum, { [kind]: size, pods }) => sum + size.replicas * podCores(pods, size.cpuCores), 0);

/**
 * Services with a reserve where an autoscaler adds nodes and what they request could not be started once more on today's: pods for a surge
 * then wait for a node beside their start, of which a load that has been even says nothing. Only as long as today's nodes hold the reserve of
 * all: more would call for nodes that may never be used.
 * @param targetUtilisation share of its CPU that a pod with a reserve uses
 */
export function withReserves(
  services: readonly ServiceToSize[],
  { allNodes, comingCores }: Pick<CostWindow["platform"], "allNodes" | "comingCores">,
  targetUtilisation: number,
): readonly ServiceToSize[] {
  if (allNodes === undefined || comingCores === undefined) return services;
  if (allNodes.cpuCores >= 2 * requestedBy(services, "base")) return services;
  const reserved = services.map((service) => withReserve(service, targetUtilisation));
  return requestedBy(reserved, "floor") > allNodes.cpuCores ? services : reserved;
}

/** Containers that can be made larger need no more of them: they grow in no time. */
function withReserve(service: ServiceToSize, targetUtilisation: number): ServiceToSize {
  const { base, ceiling, demand, floor, stepCpuCores } = service;
  if (stepCpuCores > 0 || demand === undefined) return service;
  const replicas = Math.ceil(demand.cores / targetUtilisation / Math.max(base.cpuCores, ROUNDING) - ROUNDING);
  const reserved = Math.max(floor.replicas, Math.min(ceiling.replicas, replicas));
  return { ...service, floor: { ...floor, replicas: reserved } };
}
