import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";

/** What workload and resource sources know of one service over the interval that a window covers. */
export interface ServiceResources {
  readonly namespace: string;
  readonly replicasReady?: number | undefined;
  readonly replicasWanted?: number | undefined;
  /** Between which numbers the autoscaler in charge can bring the replicas. */
  readonly minReplicas?: number | undefined;
  readonly maxReplicas?: number | undefined;
  /** The autoscaler in charge is held still. */
  readonly scalingPaused?: Window["scalingPaused"];
  /** Pods that no node has taken yet. */
  readonly podsUnscheduled?: number | undefined;
  /** See the window's. */
  readonly nodeRoomCores?: number | undefined;
  /** Start of the youngest ready replica, ms since the Unix epoch. */
  readonly lastStartedAtMs?: number | undefined;
  /** Newest program and the share of ready pods that run it. */
  readonly revision?: string | undefined;
  readonly newestRevisionShare?: number | undefined;
  /** Limits, use, throttling and interference, already formed for the interval; what was not measured is absent. */
  readonly containers: readonly ContainerWindow[];
}

/** Resources by `service.name`. Every service listed gets a window, with or without traffic. */
export interface ResourceView {
  readonly services: ReadonlyMap<string, ServiceResources>;
}

export const NO_RESOURCES: ResourceView = { services: new Map() };
