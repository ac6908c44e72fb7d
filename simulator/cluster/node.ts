import { Machine } from "../engine/machine.ts";
import type { Host } from "../engine/server.ts";
import type { ClusterModel, NeighboursModel, NodeKind } from "../model/plant-model.ts";
import { combined, NOTHING } from "./ledger.ts";
import type { Holding } from "./ledger.ts";

/** Requests add up with rounding errors. */
const EPSILON = 1e-9;

const MAX_PODS = 110;

const heldBy = ({ cores, memoryBytes, pods }: NeighboursModel): Holding => ({
  requestCores: cores,
  limitCores: cores,
  requestBytes: memoryBytes,
  limitBytes: memoryBytes,
  pods,
});

/** A machine of the cluster. */
export class ClusterNode implements Host {
  readonly index: number;
  readonly name: string;
  readonly machine: Machine;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly kind: NodeKind | undefined;
  demandFactor = 1;
  /** It does not answer any more, and never will. */
  lost = false;
  /** Since when it carries no pod. */
  emptySinceMs: number;
  /** Pods that it takes at most. */
  readonly pods: number;
  /** What pods of others have of it. */
  readonly others: Holding;
  private held: Holding = NOTHING;

  constructor(index: number, model: ClusterModel, nowMs: number) {
    const {
      neighbours,
      nodeCores: cores,
      nodeKinds,
      nodeMemoryBytes: memoryBytes,
      nodePods = MAX_PODS,
    } = model;
    this.pods = nodePods;
    this.others = neighbours === undefined ? NOTHING : heldBy(neighbours);
    this.index = index;
    this.kind = nodeKinds?.[index % nodeKinds.length];
    this.name = `node-${index}`;
    this.machine = new Machine(cores - this.others.requestCores);
    this.cores = cores;
    this.memoryBytes = memoryBytes;
    this.emptySinceMs = nowMs;
  }

  get isEmpty(): boolean {
    return this.held.pods === 0;
  }

  /** What all pods on it have, those of others too. */
  get taken(): Holding {
    return combined(this.others, this.held, 1);
  }

  /** Whether it could take `added` if `removed` were not there. */
  fits(added: Holding, removed: Holding = NOTHING): boolean {
    const then = combined(combined(this.taken, removed, -1), added, 1);
    return (
      !this.lost &&
      then.pods <= this.pods &&
      then.requestCores <= this.cores + EPSILON &&
      then.requestBytes <= this.memoryBytes + EPSILON
    );
  }

  change(removed: Holding, added: Holding, nowMs: number): void {
    this.held = combined(combined(this.held, removed, -1), added, 1);
    if (this.isEmpty) this.emptySinceMs = nowMs;
  }

  /** Mean share of CPU and memory that would be left: the scheduler's `LeastAllocated` score. */
  scoreWith(added: Holding): number {
    const { requestBytes, requestCores } = this.taken;
    const cores = (this.cores - requestCores - added.requestCores) / this.cores;
    const memory = (this.memoryBytes - requestBytes - added.requestBytes) / this.memoryBytes;
    return (cores + memory) / 2;
  }
}
