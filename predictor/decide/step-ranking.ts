import type { Size } from "./size.ts";
import type { ApplicationCost, ServiceToSize } from "./application-cost.ts";
import { SLACK } from "./limits.ts";
import type { Totals } from "./limits.ts";
import type { SizedTails } from "./own-tails.ts";
import { Slopes } from "./slopes.ts";

/** Steps from one size: one replica fewer or more, one CPU step less or more. */
export const STEPS = 4;
/** Place of one replica fewer. */
export const FEWER = 0;

/** The sizes one step away, by place; undefined where a bound is in the way. */
function stepsFrom(service: ServiceToSize, size: Size): (Size | undefined)[] {
  const { ceiling, floor, stepCpuCores } = service;
  const { cpuCores, replicas } = size;
  const less = Math.max(floor.cpuCores, cpuCores - stepCpuCores);
  const more = Math.min(ceiling.cpuCores, cpuCores + stepCpuCores);
  return [
    replicas > floor.replicas ? { ...size, replicas: replicas - 1 } : undefined,
    replicas < ceiling.replicas ? { ...size, replicas: replicas + 1 } : undefined,
    stepCpuCores > 0 && less < cpuCores - SLACK ? { ...size, cpuCores: less } : undefined,
    stepCpuCores > 0 && more > cpuCores + SLACK ? { ...size, cpuCores: more } : undefined,
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
  private readonly owns: (SizedTails | undefined)[];
  /** Exact change of the cost by step; NaN where it has to be worked out. */
  private readonly exact: Float64Array;
  private readonly isStale: Uint8Array;
  private readonly staleServices: number[] = [];

  constructor(cost: ApplicationCost) {
    const count = STEPS * cost.services.length;
    this.cost = cost;
    this.slopes = new Slopes(cost);
    this.estimates = new Float64Array(count).fill(Infinity);
    this.prices = new Float64Array(count);
    this.exact = new Float64Array(count).fill(Number.NaN);
    this.sizes = Array.from<Size | undefined>({ length: count });
    this.owns = Array.from<SizedTails | undefined>({ length: count });
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
      for (let place = 0; place < STEPS; place += 1) {
        const step = STEPS * service + place;
        this.exact[step] = Number.NaN;
        this.estimate(step);
      }
    }
    this.staleServices.length = 0;
  }

  /** Exact change of the cost by a step. */
  trial(step: number): number {
    const known = this.exact[step] ?? 0;
    if (!Number.isNaN(known)) return known;
    const size = this.sizes[step];
    if (size === undefined) return Infinity;
    const change = this.cost.trial(Math.floor(step / STEPS), size);
    this.exact[step] = change;
    return change;
  }

  isTried(step: number): boolean {
    return !Number.isNaN(this.exact[step] ?? 0);
  }

  /** Takes the self-time tail at the step's size as it is. @returns the estimate with it */
  refine(step: number): number {
    const size = this.sizes[step];
    if (size !== undefined && this.owns[step] === undefined) {
      this.owns[step] = this.cost.ownAt(Math.floor(step / STEPS), size);
      this.estimate(step);
    }
    return this.estimates[step] ?? Infinity;
  }

  /** The step that is not tried yet and estimated best, below `least`, of those that the limits allow; -1: none. */
  next(least: number, totals: Totals): number {
    for (;;) {
      let best = -1;
      let bestEstimate = least;
      for (let step = 0; step < this.estimates.length; step += 1) {
        const estimate = this.estimates[step] ?? Infinity;
        if (estimate >= bestEstimate || this.isTried(step) || !this.isAllowed(step, totals)) continue;
        best = step;
        bestEstimate = estimate;
      }
      if (best < 0 || this.owns[best] !== undefined) return best;
      this.refine(best);
    }
  }

  /** The best of the steps that have been tried, below `least`; -1: none. */
  bestTried(least: number, totals: Totals): number {
    let best = -1;
    let bestChange = least;
    for (let step = 0; step < this.exact.length; step += 1) {
      const change = this.exact[step] ?? Infinity;
      if (!(change < bestChange) || !this.isAllowed(step, totals)) continue;
      best = step;
      bestChange = change;
    }
    return best;
  }

  isAllowed(step: number, totals: Totals): boolean {
    const size = this.sizes[step];
    return size !== undefined && totals.allows(this.cost.sizeOf(Math.floor(step / STEPS)), size);
  }

  private spoil(service: number): void {
    if (this.isStale[service] === 1) return;
    this.isStale[service] = 1;
    this.staleServices.push(service);
  }

  private list(service: number): void {
    const each = this.cost.services[service];
    if (each === undefined) return;
    const from = this.cost.sizeOf(service);
    const price = this.cost.priceOf(service, from);
    for (const [place, size] of stepsFrom(each, from).entries()) {
      const step = STEPS * service + place;
      this.sizes[step] = size;
      this.prices[step] = size === undefined ? Infinity : this.cost.priceOf(service, size) - price;
      this.owns[step] = size && this.cost.knownOwnAt(service, size);
    }
    this.spoil(service);
  }

  private estimate(step: number): void {
    const service = Math.floor(step / STEPS);
    const size = this.sizes[step];
    let change = this.prices[step] ?? Infinity;
    if (size !== undefined) {
      const from = this.cost.sizeOf(service);
      const now = this.cost.ownAt(service, from);
      const then = this.owns[step];
      for (let load = 0; load < this.cost.loadCount; load += 1) {
        const slope = this.slopes.at(load, service);
        if (slope === 0) continue;
        const before = now.tailSeconds[load] ?? 0;
        const byTail =
          then === undefined
            ? this.firstOrder(service, { from, to: size, now, load })
            : (then.tailSeconds[load] ?? 0) - before;
        change += slope * byTail;
      }
    }
    this.estimates[step] = change;
  }

  /** Change of the self-time tail by its derivatives. */
  private firstOrder(
    service: number,
    { from, load, now, to }: { from: Size; to: Size; now: SizedTails; load: number },
  ): number {
    const perContainer = this.cost.loadOf(service, to, load) - this.cost.loadOf(service, from, load);
    const change =
      (now.tailByCores[load] ?? 0) * (to.cpuCores - from.cpuCores) +
      (now.tailByLoad[load] ?? 0) * perContainer;
    return Math.max(-(now.tailSeconds[load] ?? 0), change);
  }
}
