import type { Size } from "../../facts/size.ts";
import type { NodeLeft } from "../../room/node-room.ts";
import type { ApplicationCost } from "../cost/application-cost.ts";
import { SLACK } from "../cost/cost-inputs.ts";
import { NodeRooms } from "./node-rooms.ts";

/** Limits of the application as a whole; absent means none. */
export interface TotalLimits {
  readonly pods?: number;
  readonly cpuCores?: number;
  /** What pods leave of each node. */
  readonly nodes?: readonly NodeLeft[];
  /** Pods take no room: they are asked for whether a node has any or not. True of every search for a large application. */
  readonly mayWait?: boolean;
}

/** Pods and cores of all services together and what they take of each node, kept up with each change. */
export class Totals {
  /** Absent where nodes are not known. */
  readonly rooms: NodeRooms | undefined;
  private pods = 0;
  private cpuCores = 0;
  private readonly limits: TotalLimits;

  constructor(cost: ApplicationCost, limits: TotalLimits) {
    this.limits = limits;
    const { mayWait = false, nodes } = limits;
    this.rooms = nodes && new NodeRooms(nodes, cost.services, (service) => cost.sizeOf(service), mayWait);
    for (const service of cost.services.keys()) this.add(cost.sizeOf(service), 1);
  }

  /** Whether the limits of pods and cores are kept. */
  get isKept(): boolean {
    const { cpuCores = Infinity, pods = Infinity } = this.limits;
    return this.pods <= pods && this.cpuCores <= cpuCores * (1 + SLACK);
  }

  /** A change that asks for no more than the limits leave, or for less than before. */
  allows(service: number, from: Size, to: Size): boolean {
    const { cpuCores = Infinity, pods = Infinity } = this.limits;
    const addedPods = to.replicas - from.replicas;
    const addedCores = to.replicas * to.cpuCores - from.replicas * from.cpuCores;
    return (
      (addedPods <= 0 || this.pods + addedPods <= pods * (1 + SLACK)) &&
      (addedCores <= 0 || this.cpuCores + addedCores <= cpuCores * (1 + SLACK)) &&
      this.rooms?.allows(service, from, to) !== false
    );
  }

  change(service: number, from: Size, to: Size): void {
    this.add(from, -1);
    this.add(to, 1);
    this.rooms?.change(service, from, to);
  }

  private add({ cpuCores, replicas }: Size, sign: number): void {
    this.pods += sign * replicas;
    this.cpuCores += sign * replicas * cpuCores;
  }
}
