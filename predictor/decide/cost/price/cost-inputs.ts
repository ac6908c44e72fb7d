import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Size } from "../../facts/size.ts";
import type { ChangeInterval, ContainerPlace } from "../../../models/queue/change-interval.ts";
import type { StallPlace } from "../../../models/queue/cpu-bursts.ts";
import type { OwnTime } from "../../../models/queue/tracked-profile.ts";
import type { FlowGraph } from "../../../models/route/call-graph.ts";
import type { NodeLeft } from "../../../nodes/node-room.ts";
import type { LoadOutlook } from "../learn/outlook.ts";

/** Rounding slack of sums of steps. */
export const SLACK = 1e-9;

/**
 * Self time of one service at a size and a load of each container, requests per second; written into `out`.
 * @param isTailAlone nothing but `tailSeconds` is asked for
 */
export type OwnTimes = (size: Size, loadPerContainer: number, out: OwnTime, isTailAlone?: boolean) => void;

/** How sure the change of a service's self-time tail is from one size and load of a container to another. */
export type OwnChange = (from: ContainerPlace, to: ContainerPlace) => ChangeInterval;

/** What pods of a service take of the nodes that they are on, by their requests. */
export interface PodRoom {
  /** Pods that nodes have taken. */
  readonly taken: number;
  /** What a container requests of each core that it is given. */
  readonly requestRatio: number;
  /** What the other containers of a pod request together, cores. */
  readonly sidecarCores: number;
}

/** Where nothing is known of the pods of a service: none runs, and they request all of their size. */
export const UNKNOWN_PODS: PodRoom = { taken: 0, requestRatio: 1, sidecarCores: 0 };

/** CPU that one pod requests whose main container has this much, cores. */
export const podCores = ({ requestRatio, sidecarCores }: PodRoom = UNKNOWN_PODS, cpuCores: number): number =>
  requestRatio * cpuCores + sidecarCores;

/** A service whose pods are all on nodes of one class. */
export interface Elsewhere {
  readonly nodeClass: string;
  /** ln of CPU seconds a request there over those of the pods that run. */
  readonly log: number;
  readonly own: OwnTimes;
  /** CPU that nodes of the class have left, cores. */
  readonly roomCores: number;
  /** Fewest replicas that the service may have. */
  readonly leastReplicas: number;
  /** Containers that run, by class of their node. */
  readonly mix: ReadonlyMap<string, number>;
}

/** What the load of a service asks for. */
export interface ServiceDemand {
  /** CPU of all containers for the load to come, cores. */
  readonly cores: number;
  /** CPU of all containers that the service is to have whatever its model expects, cores; 0: none. */
  readonly neededCores: number;
  /** Replicas with headroom for the load that may come. */
  readonly roomyReplicas: number;
  /** Its containers have CPU requests and no limits. */
  readonly isUnlimited: boolean;
}

/** One service as the decision sees it. */
export interface ServiceToSize {
  readonly name: string;
  /** Load of the whole service in the last window, requests per second. */
  readonly requestsPerSecond: number;
  /** What it has been asked to be: changes from here have a price of their own. */
  readonly base: Size;
  readonly floor: Size;
  readonly ceiling: Size;
  /** Steps of a container's CPU, cores; 0 where it cannot be changed. */
  readonly stepCpuCores: number;
  /** CPU a request of a container that has just started over that of others; absent: not known. */
  readonly warmUpFactor?: number | undefined;
  /** CPU of a container that runs, cores. */
  readonly runningCores?: number;
  /** What its pods take of nodes; absent where it has no workload here. */
  readonly pods?: PodRoom;
  /** Replicas asked for that wait for a node. */
  readonly unscheduled?: number;
  /** Absent where it has no workload here. */
  readonly demand?: ServiceDemand;
  /** Share of its requests that its CPU quota alone takes over an objective; absent where it has no CPU limit. */
  readonly stalled?: (place: StallPlace) => number;
  /** Absent where it has no model: then its own time stays as measured. */
  readonly own?: OwnTimes;
  /** By node class; absent where all nodes are equally fast. Nothing of it decides. */
  readonly elsewhere?: readonly Elsewhere[];
  /** How sure a change of its own time is; absent where no profile says it. */
  readonly ownChange?: OwnChange;
  readonly measured: { readonly meanSeconds: number; readonly tailSeconds: number };
}

/** Limits of the application as a whole; absent means none. */
export interface TotalLimits {
  /** Where more than these run some are given up. */
  readonly pods?: number;
  /** What all pods may request together, cores. It bounds growth alone: pods that run may stay. */
  readonly cpuCores?: number;
  /** What pods leave of each node. */
  readonly nodes?: readonly NodeLeft[];
  /** No node has CPU left: what one service gets others give up, pods that run among it. */
  readonly isTraded?: boolean;
  /** Pods are asked for whether a node can take them or not. True of every search for a large application. */
  readonly mayWait?: boolean;
}

/** One route as the decision sees it. */
export interface RouteToHold {
  readonly graph: FlowGraph;
  /** Share of the requests of all routes to hold, [0, 1]. */
  readonly share: number;
  /** What using up its error budget once is worth, over {@link CostOptions.missPerHour}: the worth of its objective times its own weight. */
  readonly weight: number;
  readonly objectiveSeconds: number;
  /** Share of its requests that may be over the objective. */
  readonly budget: number;
  /** What is measured beyond what the services take, seconds, and the factor where they take less than composed. */
  readonly excessSeconds: number;
  readonly factor: number;
  /** Standard deviation of ln(latency) of its requests. */
  readonly spread: number;
  /** Standard deviation of ln(measured over composed of what its services took). */
  readonly sigma: number;
}

/** A load that may come, over that of the last window, and its probability. */
export interface LoadPoint {
  readonly factor: number;
  readonly weight: number;
}

/** Three points that have the mean, variance and first five moments of a normal ln(load) (Gauss and Hermite). */
export function loadPoints({
  mostRatio,
  ratio,
  sigma,
}: Pick<LoadOutlook, "mostRatio" | "ratio" | "sigma">): readonly LoadPoint[] {
  const step = Math.sqrt(3) * sigma;
  return [
    { factor: ratio, weight: 2 / 3 },
    { factor: Math.min(mostRatio, ratio * Math.exp(step)), weight: 1 / 6 },
    { factor: ratio * Math.exp(-step), weight: 1 / 6 },
  ];
}

export interface CostOptions {
  readonly prices: Prices;
  /** What the worth of misses is over: the price per hour of the least sizes that carry the load. */
  readonly missPerHour: number;
  /** Objective to which the tails of routes with other objectives are scaled. */
  readonly objectiveSeconds: number;
  /** Standard normal quantile of the percentile that tails are predicted at. */
  readonly quantile: number;
  readonly loads: readonly LoadPoint[];
  /** Share of a container's price per hour that adding or removing one costs. */
  readonly changeRatio: number;
  /** Share of the time that counts in which containers still have the CPU that a smaller size takes from them. */
  readonly lateRatio: number;
  /** Share of the time for which a decision stands in which what it adds warms up. */
  readonly warmUpRatio: number;
}

/** The same at another load: all that may come is this many times as much. */
export const atLoad = (options: CostOptions, ratio: number): CostOptions => ({
  ...options,
  loads: options.loads.map(({ factor, weight }) => ({ factor: ratio * factor, weight })),
});
