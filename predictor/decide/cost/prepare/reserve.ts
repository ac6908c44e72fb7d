import type { CostWindow } from "../learn/cost-window.ts";
import type { Size } from "../../facts/size.ts";
import { podCores } from "../price/cost-inputs.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import { ROUNDING } from "./service-now.ts";

/** Nodes hold less than so many times what the services request. */
export const isTight = (
  services: readonly Pick<ServiceToSize, "base" | "pods">[],
  { allNodes }: Pick<CostWindow["platform"], "allNodes">,
  surge: number,
): boolean => allNodes !== undefined && allNodes.cpuCores < surge * requestedBy(services, ({ base }) => base);

/** Cores that the pods of services request at a size of each. */
const requestedBy = <Service extends Pick<ServiceToSize, "pods">>(
  services: readonly Service[],
  sizeOf: (service: Service) => Size,
): number =>
  services.reduce((sum, service) => {
    const { cpuCores, replicas } = sizeOf(service);
    return sum + replicas * podCores(service.pods, cpuCores);
  }, 0);

interface Reserve {
  /** Nodes that hold what is requested so many times hold what a surge asks for. */
  readonly surge: number;
  /** Share of its CPU that a pod with a reserve uses. */
  readonly targetUtilisation: number;
  /** Load that the reserve is for over the load to size for: less where a surge has come, which needs no reserve for itself. */
  readonly loadRatio: number;
}

/**
 * Services with a reserve where a surge may find too little on today's nodes: its pods wait for a node beside their start, or the queue that
 * grew until they started is never worked off. A load that has been even says nothing of either. Only as long as today's nodes hold the reserve
 * of all: more would call for nodes that may never be used.
 */
export function withReserves(
  services: readonly ServiceToSize[],
  { allNodes }: Pick<CostWindow["platform"], "allNodes">,
  reserve: Reserve,
): readonly ServiceToSize[] {
  if (allNodes === undefined || !isTight(services, { allNodes }, reserve.surge)) return services;
  const reserved = services.map((service) => withReserve(service, reserve));
  return requestedBy(reserved, ({ floor }) => floor) > allNodes.cpuCores ? services : reserved;
}

/** Containers that can be made larger need no more of them: they grow in no time. */
function withReserve(service: ServiceToSize, { targetUtilisation, loadRatio }: Reserve): ServiceToSize {
  const { base, ceiling, demand, floor, stepCpuCores } = service;
  if (stepCpuCores > 0 || demand === undefined) return service;
  const cores = loadRatio * demand.cores;
  const replicas = Math.ceil(cores / targetUtilisation / Math.max(base.cpuCores, ROUNDING) - ROUNDING);
  const reserved = Math.max(floor.replicas, Math.min(ceiling.replicas, replicas));
  return { ...service, floor: { ...floor, replicas: reserved } };
}
