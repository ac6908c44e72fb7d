import type { ApplicationCost } from "./application-cost.ts";

/**
 * `d cost / d self-time tail` of every service at every load point: the sum over the routes through it of one backward pass each.
 * Only routes that have changed are walked again.
 */
export class Slopes {
  private readonly cost: ApplicationCost;
  private readonly loads: number;
  /** By service, then load point. */
  private readonly sums: Float64Array;
  /** By load point, then route, then node of the route. */
  private readonly parts: readonly (readonly Float64Array[])[];
  private readonly scratch: Float64Array;
  private readonly isSpoilt: Uint8Array;
  private readonly spoilt: number[] = [];

  constructor(cost: ApplicationCost) {
    const { loadCount: loads, routeCount: routes } = cost;
    this.cost = cost;
    this.loads = loads;
    this.sums = new Float64Array(loads * cost.services.length);
    this.parts = Array.from({ length: loads }, () =>
      Array.from({ length: routes }, (_, route) => new Float64Array(cost.servicesOf(route).length)),
    );
    this.scratch = new Float64Array(cost.services.length);
    this.isSpoilt = new Uint8Array(routes);
    for (let route = 0; route < routes; route += 1) this.spoil(route);
  }

  at(load: number, service: number): number {
    return this.sums[service * this.loads + load] as number;
  }

  /** A service of the route has changed its size. */
  spoil(route: number): void {
    if (this.isSpoilt[route] === 1) return;
    this.isSpoilt[route] = 1;
    this.spoilt.push(route);
  }

  /** @param touched called for each service of a route that was walked again */
  update(touched: (service: number) => void): void {
    for (const route of this.spoilt) {
      this.isSpoilt[route] = 0;
      for (let load = 0; load < this.loads; load += 1) this.walk(route, load);
      for (const service of this.cost.servicesOf(route)) touched(service);
    }
    this.spoilt.length = 0;
  }

  private walk(route: number, load: number): void {
    const { loads, scratch, sums } = this;
    const parts = this.parts[load]?.[route] ?? scratch;
    const services = this.cost.servicesOf(route);
    this.cost.addSlopes(route, load, scratch);
    for (let node = 0; node < services.length; node += 1) {
      const service = services[node] as number;
      const slope = scratch[service] as number;
      const index = service * loads + load;
      sums[index] = (sums[index] as number) + slope - (parts[node] as number);
      parts[node] = slope;
      scratch[service] = 0;
    }
  }
}
