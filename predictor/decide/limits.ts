import type { Size } from "../facts/size.ts";
import type { ApplicationCost } from "./application-cost.ts";

/** Rounding slack of sums of steps. */
export const SLACK = 1e-9;

/** Limits of the application as a whole; absent means none. */
export interface TotalLimits {
  readonly pods?: number;
  readonly cpuCores?: number;
}

/** Pods and cores of all services together, kept up with each change. */
export class Totals {
  private pods = 0;
  private cpuCores = 0;
  private readonly limits: TotalLimits;

  constructor(cost: ApplicationCost, limits: TotalLimits) {
    this.limits = limits;
    for (const service of cost.services.keys()) this.add(cost.sizeOf(service), 1);
  }

  /** Whether all limits are kept. */
  get isKept(): boolean {
    const { cpuCores = Infinity, pods = Infinity } = this.limits;
    return this.pods <= pods && this.cpuCores <= cpuCores * (1 + SLACK);
  }

  /** A change that asks for no more than the limits leave, or for less than before. */
  allows(from: Size, to: Size): boolean {
    const { cpuCores = Infinity, pods = Infinity } = this.limits;
    const addedPods = to.replicas - from.replicas;
    const addedCores = to.replicas * to.cpuCores - from.replicas * from.cpuCores;
    return (
      (addedPods <= 0 || this.pods + addedPods <= pods * (1 + SLACK)) &&
      (addedCores <= 0 || this.cpuCores + addedCores <= cpuCores * (1 + SLACK))
    );
  }

  change(from: Size, to: Size): void {
    this.add(from, -1);
    this.add(to, 1);
  }

  private add({ cpuCores, replicas }: Size, sign: number): void {
    this.pods += sign * replicas;
    this.cpuCores += sign * replicas * cpuCores;
  }
}
