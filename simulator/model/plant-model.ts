import type { ApplicationModel } from "./application-model.ts";
import type { Distribution } from "./distribution.ts";

/** Requests per second of all routes together, at a time in seconds from the start of the run. */
export type Load = (atSeconds: number) => number;

/** Adds a node when pods wait for one, and removes nodes that carry none. */
export interface NodeAutoscalerModel {
  readonly maxNodes: number;
  /** From the moment that a pod finds no node until a new node takes pods. */
  readonly startSeconds: number;
  /** A node without pods is removed after this time. */
  readonly idleSeconds: number;
}

/** Nodes that are alike. */
export interface NodeKind {
  /** As the platform names them. */
  readonly instanceType: string;
  /** CPU work done in a second over that of an ordinary node. */
  readonly speed: number;
  /** Weight of the pods' preferred node affinity for it over how much a node has left, which is in [0, 1]. Default 0. */
  readonly preference?: number;
}

/** What pods of others have on each node, and use all the time. */
export interface NeighboursModel {
  readonly pods: number;
  readonly cores: number;
  readonly memoryBytes: number;
}

/** The machines, and how the cluster treats pods. */
export interface ClusterModel {
  readonly nodes: number;
  /** Allocatable of each node. */
  readonly nodeCores: number;
  readonly nodeMemoryBytes: number;
  /** Kinds of nodes, which take turns by number of the node. Absent: all are ordinary and of no stated type. */
  readonly nodeKinds?: readonly NodeKind[];
  readonly nodeAutoscaler?: NodeAutoscalerModel;
  /** On every node, those that come later too. Absent: the application has the nodes to itself. */
  readonly neighbours?: NeighboursModel;
  /** Allocatable cores of nodes with a taint that no pod of the application tolerates. */
  readonly taintedNodes?: readonly number[];
  /** Pods that a node takes at most. Default 110, as the kubelet's. */
  readonly nodePods?: number;
  /** From the moment that a node takes a pod until it is ready, ms. */
  readonly podStartMs: Distribution;
  /** A pod that is taken down is killed after this time. Default 30. */
  readonly drainSeconds?: number;
}

/** Something that happens at a given time of the run. Intervals end before `untilSeconds`. */
export type Incident =
  /** Other tenants slow down everything on some nodes: CPU demands are multiplied by `factor`. */
  | {
      readonly kind: "interference";
      readonly atSeconds: number;
      readonly untilSeconds: number;
      /** Numbers of the nodes; default all. */
      readonly nodes?: readonly number[];
      readonly factor: number;
      /** What an agent on the node reports, [0, 1]. */
      readonly cpu: number;
      readonly memoryBandwidth: number;
    }
  /** What lies outside answers later: the times of a dependency are multiplied by `factor`. */
  | {
      readonly kind: "slow-dependency";
      readonly atSeconds: number;
      readonly untilSeconds: number;
      readonly dependency: string;
      readonly factor: number;
    }
  | { readonly kind: "node-loss"; readonly atSeconds: number; readonly node: number }
  /** A rolling update to a version whose CPU demands are multiplied by `demandFactor` (of the first version's). */
  | {
      readonly kind: "deploy";
      readonly atSeconds: number;
      readonly service: string;
      readonly demandFactor: number;
    };

/** How spans and metrics reach the windows. */
export interface TelemetryModel {
  /** Share of the traces that are kept, decided at their first span; 0: no spans at all. */
  readonly sampledRatio: number;
  /** From the end of a span until the collector has it (the batch processor's delay and the way). */
  readonly spanDelaySeconds: number;
  /** Whether spans say by which ratio they were sampled (`ot=th:`). Default true. */
  readonly statesRatio?: boolean;
  /** Interval of metrics-server, seconds. Default 15. */
  readonly scrapeSeconds?: number;
}

/** Everything that one run needs beside a seed. */
export interface PlantModel {
  readonly application: ApplicationModel;
  readonly load: Load;
  /** Requests of a route come by chance (a Poisson process) or, as from a load generator, at even distances. Default `poisson`. */
  readonly arrivals?: "poisson" | "even";
  readonly seconds: number;
  /** Start of the run, ms since the Unix epoch; a multiple of a minute. */
  readonly startMs: number;
  readonly cluster: ClusterModel;
  readonly telemetry: TelemetryModel;
  readonly incidents?: readonly Incident[];
}
