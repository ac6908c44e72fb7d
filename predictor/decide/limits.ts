import type { Size } from "../facts/size.ts";
import type { ApplicationCost } from "./application-cost.ts";

/** Rounding slack of sums of steps. */
export const SLACK = 1e-9;

/** Limits of the application as a whole; absent means none. */
export interface TotalLimits {
  readonly pods?: number;
  readonly cpuCores?: number;
  /** CPU that nodes have left for containers that run there, cores, by node. */
  readonly nodes?: ReadonlyMap<string, number>;
}

/** Pods and cores of all services together, kept up with each change. */
export class Totals {
  private pods = 0;
  private cpuCores = 0;
  private readonly limits: TotalLimits;

  private readonly cost: ApplicationCost;
  /** What larger containers take of the room of their nodes. */
  private readonly taken = new Map<string, number>();

  constructor(cost: ApplicationCost, limits: TotalLimits) {
    this.limits = limits;
    this.cost = cost;
    for (const service of cost.services.keys()) this.add(service, cost.sizeOf(service), 1);
  }

  /** Whether all limits are kept. */
  get isKept(): boolean {
    const { cpuCores = Infinity, pods = Infinity } = this.limits;
    return this.pods <= pods && this.cpuCores <= cpuCores * (1 + SLACK);
  }

  /** A change that asks for no more than the limits leave, or for less than before. */
  allows(service: number, from: Size, to: Size): boolean {
    if (to.cpuCores > from.cpuCores && !this.fits(service, from, to)) return false;
    const { cpuCores = Infinity, pods = Infinity } = this.limits;
    const addedPods = to.replicas - from.replicas;
    const addedCores = to.replicas * to.cpuCores - from.replicas * from.cpuCores;
    return (
      (addedPods <= 0 || this.pods + addedPods <= pods * (1 + SLACK)) &&
      (addedCores <= 0 || this.cpuCores + addedCores <= cpuCores * (1 + SLACK))
    );
  }

  change(service: number, from: Size, to: Size): void {
    this.add(service, from, -1);
    this.add(service, to, 1);
  }

  private fits(service: number, from: Size, to: Size): boolean {
    const { nodes: rooms } = this.limits;
    const { nodes, runningCores } = this.cost.services[service] ?? {};
    if (rooms === undefined || nodes === undefined || runningCores === undefined) return true;
    const more = Math.max(0, to.cpuCores - runningCores) - Math.max(0, from.cpuCores - runningCores);
    if (more <= 0) return true;
    for (const [node, containers] of nodes)
      if ((this.taken.get(node) ?? 0) + containers * more > (rooms.get(node) ?? Infinity) + SLACK)
        return false;
    return true;
  }

  private add(service: number, { cpuCores, replicas }: Size, sign: number): void {
    const { nodes, runningCores = cpuCores } = this.cost.services[service] ?? {};
    if (this.limits.nodes !== undefined && cpuCores > runningCores)
      for (const [node, containers] of nodes ?? [])
        this.taken.set(node, (this.taken.get(node) ?? 0) + sign * containers * (cpuCores - runningCores));
    this.pods += sign * replicas;
    this.cpuCores += sign * replicas * cpuCores;
  }
}
