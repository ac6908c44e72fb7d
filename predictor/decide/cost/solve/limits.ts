import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { podCores, SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize, TotalLimits } from "../price/cost-inputs.ts";
import { NodeHeadroom } from "./node-headroom.ts";

/** What the pods of a service request together, cores. */
const requestedCores = ({ pods }: ServiceToSize, { cpuCores, replicas }: Size): number =>
  replicas * podCores(pods, cpuCores);

/** At least what nodes have taken of the service: what stops or becomes smaller frees no more than that. */
const atLeastTaken = ({ pods, runningCores = 0 }: ServiceToSize, size: Size): Size => ({
  ...size,
  replicas: Math.max(size.replicas, pods?.taken ?? 0),
  cpuCores: Math.max(size.cpuCores, runningCores),
});

/** Pods of all services together, what they request and what they take of each node, kept up with each change. */
export class Totals {
  /** Absent where nodes are not known. */
  readonly headroom: NodeHeadroom | undefined;
  private pods = 0;
  /** What all pods request, those that are to stop among them, cores. */
  private requested = 0;
  private readonly mostPods: number;
  /** Never less than what nodes have taken, cores. */
  private readonly mostCores: number;
  private readonly isTraded: boolean;
  private readonly services: readonly ServiceToSize[];

  constructor(cost: ApplicationCost, limits: TotalLimits) {
    const {
      cpuCores = Infinity,
      isTraded = false,
      mayWait = false,
      nodes,
      pods: mostPods = Infinity,
    } = limits;
    const { services } = cost;
    this.isTraded = isTraded;
    this.services = services;
    this.headroom = nodes && new NodeHeadroom(nodes, services, (service) => cost.sizeOf(service), mayWait);
    for (const service of services.keys()) this.add(service, cost.sizeOf(service), 1);
    const takenCores = services.reduce((sum, service) => {
      const { base, pods, runningCores = base.cpuCores } = service;
      return sum + requestedCores(service, { ...base, replicas: pods?.taken ?? 0, cpuCores: runningCores });
    }, 0);
    this.mostPods = mostPods;
    this.mostCores = (isTraded ? takenCores : Math.max(cpuCores, takenCores)) * (1 + SLACK);
  }

  /** Whether the limits of pods and cores are kept. */
  get isKept(): boolean {
    return this.pods <= this.mostPods && this.requested <= this.mostCores;
  }

  /** A change that asks for no more than the limits leave, or for less than before. */
  allows(service: number, sizeBefore: Size, sizeAfter: Size): boolean {
    const sized = this.services[service] as ServiceToSize;
    const addedPods = sizeAfter.replicas - sizeBefore.replicas;
    const addedCores = this.coresOf(sized, sizeAfter) - this.coresOf(sized, sizeBefore);
    return (
      (addedPods <= 0 || this.pods + addedPods <= this.mostPods * (1 + SLACK)) &&
      (addedCores <= 0 || this.requested + addedCores <= this.mostCores) &&
      this.headroom?.allows(service, sizeBefore, sizeAfter) !== false
    );
  }

  /**
   * What a change to less frees of the limit that is exceeded: pods, else requested cores. Not above 0 where it does not help. Pods that run
   * free no cores unless they are traded: they are given up for the budget of pods alone.
   */
  freed(service: number, from: Size, to: Size): number {
    if (this.pods > this.mostPods) return from.replicas - to.replicas;
    const sized = this.services[service] as ServiceToSize;
    return this.coresOf(sized, from) - this.coresOf(sized, to);
  }

  change(service: number, from: Size, to: Size): void {
    this.add(service, from, -1);
    this.add(service, to, 1);
    this.headroom?.change(service, from, to);
  }

  /** What a size requests of nodes, cores: an autoscaler stops pods long after it was told to, and nothing starts in their place before. */
  private coresOf(service: ServiceToSize, size: Size): number {
    return requestedCores(service, this.isTraded ? size : atLeastTaken(service, size));
  }

  private add(service: number, size: Size, sign: number): void {
    this.pods += sign * size.replicas;
    this.requested += sign * this.coresOf(this.services[service] as ServiceToSize, size);
  }
}
