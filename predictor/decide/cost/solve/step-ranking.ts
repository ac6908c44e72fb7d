import type { Size } from "../../facts/size.ts";
import type { ApplicationCost } from "../price/application-cost.ts";
import { SLACK } from "../price/cost-inputs.ts";
import type { ServiceToSize } from "../price/cost-inputs.ts";
import { Least } from "./least.ts";
import type { Totals } from "./limits.ts";
import type { SizedTail, SizedTails } from "../price/own-tails.ts";
import { Slopes } from "../price/slopes.ts";

/** Steps from one size: one replica fewer or more, one CPU step less or more. */
export const STEPS = 4;
/** Places of one replica fewer, and of one CPU step less. */
export const FEWER = 0;
export const SMALLER = 2;

/** The sizes one step away, by place; undefined where a bound is in the way. */
function stepsFrom(service: ServiceToSize, size: Size): (Size | undefined)[] {
  const { ceiling, floor, stepCpuCores } = service;
  const { cpuCores, memoryBytes, replicas } = size;
  const lessCores = Math.max(floor.cpuCores, cpuCores - stepCpuCores);
  const moreCores = Math.min(ceiling.cpuCores, cpuCores + stepCpuCores);
  return [
    replicas > floor.replicas ? { replicas: replicas - 1, cpuCores, memoryBytes } : undefined,
    replicas < ceiling.replicas ? { replicas: replicas + 1, cpuCores, memoryBytes } : undefined,
    stepCpuCores > 0 && lessCores < cpuCores - SLACK
      ? { replicas, cpuCores: lessCores, memoryBytes }
      : undefined,
    stepCpuCores > 0 && moreCores > cpuCores + SLACK
      ? { replicas, cpuCores: moreCores, memoryBytes }
      : undefined,
  ];
}

/**
 * All steps of an application with what each is estimated to change of the total cost: its price, and what the change of the
 * self-time tail makes of all routes to first order. The tail at the new size is first taken from its derivatives, which flatter
 * a step (the tail is convex), and worked out for those steps alone that look good even so.
 *
 * A step's number is {@link STEPS} times the service's, plus its place.
 */
export class StepRanking {
  /** Estimated change of the cost by step, per hour; Infinity where there is no such step. */
  readonly estimates: Float64Array;
  private readonly cost: ApplicationCost;
  private readonly slopes: Slopes;
  private readonly sizes: (Size | undefined)[];
  private readonly prices: Float64Array;
  /** 1 where the price is without what warm-up misses: nobody asks for that of a step that does not look good even so. */
  private readonly isLeastPrice: Uint8Array;
  private readonly owns: (SizedTail | undefined)[];
  /** Change of the self-time tail by step, then load point: as it is where {@link owns} has it, else by its derivatives. */
  private readonly tailChanges: Float64Array;
  /** Estimates of the steps that have not been tried, and exact changes of the cost by those that have. */
  private readonly untried: Least;
  private readonly tried: Least;
  private readonly isStale: Uint8Array;
  private readonly staleServices: number[] = [];

  constructor(cost: ApplicationCost) {
    const count = STEPS * cost.services.length;
    this.cost = cost;
    this.slopes = new Slopes(cost);
    this.estimates = new Float64Array(count).fill(Infinity);
    this.prices = new Float64Array(count);
    this.isLeastPrice = new Uint8Array(count);
    this.untried = new Least(count);
    this.tried = new Least(count);
    this.sizes = Array.from<Size | undefined>({ length: count });
    this.owns = Array.from<SizedTail | undefined>({ length: count });
    this.tailChanges = new Float64Array(count * cost.loadCount);
    this.isStale = new Uint8Array(cost.services.length);
    for (const service of cost.services.keys()) this.list(service);
    this.update();
  }

  sizeOf(step: number): Size | undefined {
    return this.sizes[step];
  }

  /** Makes a service a size, and notes what has to be estimated again. */
  set(service: number, size: Size): void {
    this.cost.set(service, size);
    this.list(service);
    for (const route of this.cost.routesThrough(service)) this.slopes.spoil(route);
  }

  /** Estimates again what the changes since the last time have touched. */
  update(): void {
    this.slopes.update((service) => {
      this.spoil(service);
    });
    for (const service of this.staleServices) {
      this.isStale[service] = 0;
      this.estimateAll(service);
    }
    this.staleServices.length = 0;
  }

  /** Exact change of the cost by a step. */
  trial(step: number): number {
    const known = this.tried.get(step);
    if (known < Infinity) return known;
    const size = this.sizes[step];
    if (size === undefined) return Infinity;
    const change = this.cost.trial(Math.floor(step / STEPS), size);
    this.tried.set(step, change);
    this.untried.set(step, Infinity);
    return change;
  }

  /** Takes the self-time tail at the step's size as it is. @returns the estimate with it */
  refine(step: number): number {
    const size = this.sizes[step];
    if (size !== undefined && this.owns[step] === undefined) {
      const service = Math.floor(step / STEPS);
      this.owns[step] = this.cost.ownTailsAt(service, size);
      const from = this.cost.sizeOf(service);
      this.measure(step, from, this.cost.ownAt(service, from));
      this.estimate(step);
      if (!(this.tried.get(step) < Infinity)) this.untried.set(step, this.estimates[step] ?? Infinity);
    }
    return this.estimates[step] ?? Infinity;
  }

  /** The step that is not tried yet and estimated best, below `least`, of those that the limits allow; -1: none. */
  next(least: number, totals: Totals): number {
    for (;;) {
      const best = this.untried.find(least, (step) => this.isAllowed(step, totals));
      if (best < 0 || this.owns[best] !== undefined) return best;
      this.refine(best);
    }
  }

  /** The best of the steps that have been tried, below `least`; -1: none. */
  bestTried(least: number, totals: Totals): number {
    return this.tried.find(least, (step) => this.isAllowed(step, totals));
  }

  isAllowed(step: number, totals: Totals): boolean {
    const size = this.sizes[step];
    return (
      size !== undefined &&
      totals.allows(Math.floor(step / STEPS), this.cost.sizeOf(Math.floor(step / STEPS)), size)
    );
  }

  private spoil(service: number): void {
    if (this.isStale[service] === 1) return;
    this.isStale[service] = 1;
    this.staleServices.push(service);
  }

  private list(service: number): void {
    const serviceToSize = this.cost.services[service];
    if (serviceToSize === undefined) return;
    const current = this.cost.sizeOf(service);
    const currentTimes = this.cost.ownAt(service, current);
    const price = this.cost.paidFor(service);
    const sizes = stepsFrom(serviceToSize, current);
    for (let place = 0; place < STEPS; place += 1) {
      const size = sizes[place];
      const step = STEPS * service + place;
      this.sizes[step] = size;
      this.prices[step] = size === undefined ? Infinity : this.cost.leastPriceOf(service, size) - price;
      this.isLeastPrice[step] = 1;
      this.owns[step] = size && this.cost.knownOwnTailsAt(service, size);
      this.measure(step, current, currentTimes);
    }
    this.spoil(service);
  }

  /** Notes what a step makes of the self-time tail. */
  private measure(step: number, current: Size, currentTimes: SizedTails): void {
    const size = this.sizes[step];
    if (size === undefined) return;
    const { cost, tailChanges } = this;
    const service = Math.floor(step / STEPS);
    const sizeTails = this.owns[step];
    const offset = step * cost.loadCount;
    for (let load = 0; load < cost.loadCount; load += 1) {
      const tailSeconds = currentTimes.tailSeconds[load] as number;
      if (sizeTails !== undefined) {
        tailChanges[offset + load] = (sizeTails.tailSeconds[load] as number) - tailSeconds;
        continue;
      }
      const perContainer = cost.loadOf(service, size, load) - cost.loadOf(service, current, load);
      const byTail =
        (currentTimes.tailByCores[load] as number) * (size.cpuCores - current.cpuCores) +
        (currentTimes.tailByLoad[load] as number) * perContainer;
      tailChanges[offset + load] = Math.max(-tailSeconds, byTail);
    }
  }

  private estimateAll(service: number): void {
    for (let step = STEPS * service; step < STEPS * (service + 1); step += 1) {
      this.estimate(step);
      this.untried.set(step, this.estimates[step] ?? Infinity);
      this.tried.set(step, Infinity);
    }
  }

  private estimate(step: number): void {
    const size = this.sizes[step];
    this.estimates[step] = Infinity;
    if (size === undefined) return;
    const service = Math.floor(step / STEPS);
    this.addUp(step, service);
    if (!(this.estimates[step] < 0) || this.isLeastPrice[step] === 0) return;
    this.prices[step] = this.cost.priceOf(service, size) - this.cost.paidFor(service);
    this.isLeastPrice[step] = 0;
    this.addUp(step, service);
  }

  /** The price and what the change of the self-time tail makes of the routes. */
  private addUp(step: number, service: number): void {
    const loads = this.cost.loadCount;
    let change = this.prices[step] as number;
    for (let load = 0; load < loads; load += 1) {
      const slope = this.slopes.at(load, service);
      if (slope !== 0) change += slope * (this.tailChanges[step * loads + load] as number);
    }
    this.estimates[step] = change;
  }
}
