import { mainContainers } from "@tradewind/core/main-containers.ts";
import type { ContainerSize } from "../../plan/application-plan.ts";
import type { PolicySettings } from "../settings.ts";
import type { Observation } from "./observation.ts";

/** Throttled share of periods under which a CPU limit holds nothing back. */
const HARDLY_THROTTLED = 0.02;

/** Share of its CPU under which a container that is never throttled has more than it can make use of. */
const AMPLE_UTILISATION = 0.2;

/** CPU interference from which on others, and not its own limit, are what a container waits for. */
const CROWDED_RATIO = 0.75;

/** Known to use little CPU and known to queue nothing: another replica cannot make it faster. */
export function isIdle(observation: Observation, settings: PolicySettings): boolean {
  const { utilisation, queue, readyReplicas } = observation;
  const ownRequests = queue?.ownRequests;
  if (utilisation === undefined || ownRequests === undefined || readyReplicas === undefined) return false;
  return (
    utilisation < settings.idleUtilisation &&
    ownRequests < settings.idleOwnRequests * Math.max(1, readyReplicas)
  );
}

/**
 * Known not to be held back by its CPU limit: hardly ever throttled, and with four fifths of its CPU to spare. What is slow then is
 * the node, or what it waits for; a larger limit changes neither.
 */
export function hasAmpleCpu({ utilisation, demand }: Observation): boolean {
  if (utilisation === undefined || demand === undefined) return false;
  return demand.throttledRatio < HARDLY_THROTTLED && utilisation < AMPLE_UTILISATION;
}

/** Known to be under its target utilisation while others take the CPU of the nodes that all of its containers run on. */
function lacksNodeCpu({ utilisation, window }: Observation, settings: PolicySettings): boolean {
  const containers = window === undefined ? [] : mainContainers(window);
  if (utilisation === undefined || utilisation >= settings.targetUtilisation || containers.length === 0) {
    return false;
  }
  return containers.every(({ interference }) => (interference?.cpu.value ?? 0) >= CROWDED_RATIO);
}

/** Its containers are held up by their quota so often that taking CPU from them would be felt. */
export function isThrottled({ demand }: Observation, { planner }: PolicySettings): boolean {
  return (demand?.throttledRatio ?? 0) > planner.throttledRatioLimit;
}

/** What is known of the nodes. */
export interface Nodes {
  /** What the largest node has room for; undefined where that is not known. */
  readonly largestContainer: ContainerSize | undefined;
  /** What all nodes have together; undefined where that is not known. */
  readonly allNodes: ContainerSize | undefined;
}

/** The only node has its CPU taken by others: replicas of what waits for it would run there too. */
export function isCrowdedOut(
  observation: Observation,
  settings: PolicySettings,
  { allNodes, largestContainer }: Nodes,
): boolean {
  if (allNodes === undefined || largestContainer === undefined) return false;
  return allNodes.cpuCores <= largestContainer.cpuCores && lacksNodeCpu(observation, settings);
}
