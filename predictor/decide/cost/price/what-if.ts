import type { ApplicationCost } from "./application-cost.ts";
import type { Size } from "../../facts/size.ts";

/** One change of one service; `steps` of a container's CPU, or whole replicas. */
export interface SizeStep {
  readonly resource: "cpu" | "replicas";
  readonly steps: number;
}

/** What the models expect of a change: the tail of the slowest route before and after it, seconds. */
export interface ExpectedEffect {
  readonly from: number;
  readonly to: number;
  readonly tailBeforeSeconds: number;
  readonly tailAfterSeconds: number;
}

const SIZE_OF = { cpu: "cpuCores", memory: "memoryBytes", replicas: "replicas" } as const;

/** Where the size of a container cannot be changed, a step is this share of its CPU. */
const STEP_SHARE = 0.25;

/**
 * Asks the models of a decision what would be, at the sizes that it started from and the median load. Changes nothing. The
 * models are put together when something is asked.
 */
export class WhatIf {
  readonly #make: (loadRatio?: number) => ApplicationCost;
  #made: ApplicationCost | undefined;

  /** @param make the models at those sizes, for nobody else, and at so many times the load that was planned for */
  constructor(make: (loadRatio?: number) => ApplicationCost) {
    this.#make = make;
  }

  get #cost(): ApplicationCost {
    this.#made ??= this.#make();
    return this.#made;
  }

  /** The models at those sizes and so many times the load that was planned for; nobody else has them. */
  models(loadRatio: number): ApplicationCost {
    return this.#make(loadRatio);
  }

  /** Load that was planned for, over the measured one. */
  get loadRatio(): number {
    return this.#cost.loadRatio;
  }

  #numberOf(service: string): number {
    return this.#cost.services.findIndex(({ name }) => name === service);
  }

  /** Predicted tail of the worst route in proportion to its objective, seconds. */
  get tailSeconds(): number {
    return this.#cost.worstTailSeconds();
  }

  /**
   * Seconds that a route's tail grows by for each second of a service's own, where services take what they were measured to take; by
   * service, none where it is 0. What the models expect would hide a call beside a longer one that became the longest unseen by them.
   * @param measuredRoute the one that was measured to be slowest; the one that the models expect to be where it is unknown
   */
  influences(measuredRoute?: string): Map<string, number> {
    const tails = this.#cost.services.map(({ measured }) => measured.tailSeconds);
    return this.#slopesOf(this.#routeOf(measuredRoute) ?? this.#slowestRoute(), tails);
  }

  /** @param tails own tail of each service instead of what the models expect, seconds; 0 is not known */
  #slopesOf(route: number | undefined, tails: readonly number[] = []): Map<string, number> {
    const slopes = new Float64Array(this.#cost.services.length);
    if (route !== undefined) this.#cost.addTailSlopes(route, slopes, tails);
    const byName = new Map<string, number>();
    for (const [number, slope] of slopes.entries()) {
      const name = this.#cost.services[number]?.name;
      if (name !== undefined && slope > 0) byName.set(name, slope);
    }
    return byName;
  }

  /** Share of the slowest route's tail that each service's own time makes up, to first order; they sum to 1. */
  tailShares(): Map<string, number> {
    const parts = new Map<string, number>();
    let sum = 0;
    for (const [service, slope] of this.#slopesOf(this.#slowestRoute())) {
      const number = this.#numberOf(service);
      const part = slope * (this.#cost.ownAt(number, this.#cost.sizeOf(number)).tailSeconds[0] ?? 0);
      parts.set(service, part);
      sum += part;
    }
    return new Map([...parts].map(([service, part]) => [service, sum > 0 ? part / sum : 0]));
  }

  /** Undefined where the service has no model of its own time, or is on no route. */
  resized(service: string, { resource, steps }: SizeStep): ExpectedEffect | undefined {
    const now = this.sizeOf(service);
    if (now === undefined) return undefined;
    const { stepCpuCores = 0 } = this.#cost.services[this.#numberOf(service)] ?? {};
    const step = stepCpuCores > 0 ? stepCpuCores : STEP_SHARE * now.cpuCores;
    const to = resource === "replicas" ? now.replicas + steps : now.cpuCores + steps * step;
    return this.sized(service, resource, to);
  }

  /** The size that the decision started from; undefined as above. */
  sizeOf(service: string): Size | undefined {
    const number = this.#numberOf(service);
    const isModelled =
      this.#cost.services[number]?.own !== undefined && this.#cost.routesThrough(number).length > 0;
    return isModelled ? this.#cost.sizeOf(number) : undefined;
  }

  /** The same for a number of replicas, or of cores or bytes of each container. */
  sized(service: string, resource: keyof typeof SIZE_OF, amount: number): ExpectedEffect | undefined {
    const size = this.sizeOf(service);
    if (size === undefined || !(amount > 0) || (resource === "replicas" && amount < 1)) return undefined;
    const number = this.#numberOf(service);
    const property = SIZE_OF[resource];
    const tailBeforeSeconds = this.tailSeconds;
    this.#cost.set(number, { ...size, [property]: amount });
    const tailAfterSeconds = this.tailSeconds;
    this.#cost.set(number, size);
    return { from: size[property], to: amount, tailBeforeSeconds, tailAfterSeconds };
  }

  /**
   * What the slowest route's tail would be if a service's own time were another, all else as the models have it. Undefined
   * where it is on no route.
   * @param nowSeconds its measured tail
   * @param thenSeconds the tail that is supposed
   */
  ownTime(service: string, nowSeconds: number, thenSeconds: number): ExpectedEffect | undefined {
    const number = this.#numberOf(service);
    if (number < 0 || this.#cost.routesThrough(number).length === 0) return undefined;
    const [tailBeforeSeconds, tailAfterSeconds] = [nowSeconds, thenSeconds].map((seconds) =>
      this.#slowestIf(number, seconds),
    );
    if (tailBeforeSeconds === undefined || tailAfterSeconds === undefined) return undefined;
    return { from: nowSeconds, to: thenSeconds, tailBeforeSeconds, tailAfterSeconds };
  }

  #slowestIf(number: number, ownTailSeconds: number): number {
    const through = new Set(this.#cost.routesThrough(number));
    let slowestSeconds = 0;
    for (let route = 0; route < this.#cost.routeCount; route += 1) {
      const tail = through.has(route)
        ? this.#cost.tailIf(route, number, ownTailSeconds)
        : this.#cost.tailOf(route);
      slowestSeconds = Math.max(slowestSeconds, this.#cost.comparableTail(route, tail));
    }
    return slowestSeconds;
  }

  #routeOf(name: string | undefined): number | undefined {
    for (let route = 0; route < this.#cost.routeCount; route += 1)
      if (this.#cost.routeOf(route).graph.flow === name) return route;
    return undefined;
  }

  #slowestRoute(): number | undefined {
    let slowest: number | undefined;
    for (let route = 0; route < this.#cost.routeCount; route += 1)
      if (slowest === undefined || this.#cost.comparableTail(route) > this.#cost.comparableTail(slowest))
        slowest = route;
    return slowest;
  }
}
