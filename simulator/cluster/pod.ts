import type { Server } from "../engine/server.ts";
import type { ContainerModel, ServiceModel } from "../model/application-model.ts";
import type { PodPhase } from "../world.ts";
import { combined, NOTHING } from "./ledger.ts";
import type { Holding } from "./ledger.ts";
import type { ClusterNode } from "./node.ts";

/** Size of a main container. */
export type ContainerSize = Pick<
  ContainerModel,
  "cpuRequestCores" | "cpuLimitCores" | "memoryRequestBytes" | "memoryLimitBytes"
>;

/** One pod from its creation until it is gone. Times are ms from the start of the run. */
export class Pod {
  readonly name: string;
  readonly service: number;
  /** Number of the pod among all pods that its service ever had. */
  readonly ordinal: number;
  /** Which update of the Deployment it belongs to. */
  readonly generation: number;
  readonly versionFactor: number;
  readonly createdMs: number;
  readonly model: ServiceModel;
  phase: PodPhase = "pending";
  size: ContainerSize;
  /** A size in place that the node cannot give yet. */
  wantedSize: ContainerSize | undefined;
  node: ClusterNode | undefined;
  scheduledMs: number | undefined;
  readyMs: number | undefined;
  server: Server | undefined;
  oomKills = 0;
  /** The last one. */
  oomKilledMs: number | undefined;
  /** When its container started last after a kill. */
  restartedMs = -Infinity;
  /** Kills in a series with little time between them. */
  crashes = 0;

  constructor(
    identity: Pick<
      Pod,
      "name" | "service" | "ordinal" | "generation" | "versionFactor" | "createdMs" | "model"
    >,
    size: ContainerSize,
  ) {
    this.name = identity.name;
    this.service = identity.service;
    this.ordinal = identity.ordinal;
    this.generation = identity.generation;
    this.versionFactor = identity.versionFactor;
    this.createdMs = identity.createdMs;
    this.model = identity.model;
    this.size = size;
  }

  /** What it holds of its node; nothing while it is pending. */
  get holding(): Holding {
    return this.node === undefined ? NOTHING : this.holdingAt(this.size);
  }

  /** What it would hold with this size of its main container. */
  holdingAt(size: ContainerSize): Holding {
    const { sidecar } = this.model;
    const main = containerHolding(size);
    return {
      ...(sidecar === undefined ? main : combined(main, containerHolding(sidecar), 1)),
      pods: 1,
    };
  }
}

function containerHolding(size: ContainerSize): Holding {
  const { cpuLimitCores, cpuRequestCores, memoryLimitBytes, memoryRequestBytes } = size;
  return {
    requestCores: cpuRequestCores,
    limitCores: cpuLimitCores ?? cpuRequestCores,
    requestBytes: memoryRequestBytes,
    limitBytes: memoryLimitBytes ?? memoryRequestBytes,
    pods: 0,
  };
}
