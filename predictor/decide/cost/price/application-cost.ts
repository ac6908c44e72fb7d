import { FlowTail } from "../../../models/route/flow-tail.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Size } from "../../facts/size.ts";
import type { CostOptions, RouteToHold, ServiceToSize } from "./cost-inputs.ts";
import { firstAlike, OwnTails } from "./own-tails.ts";
import type { SizedTail, SizedTails } from "./own-tails.ts";
import { expectedLoss, lossByTail, shareOver } from "./route-cost.ts";
import { loadPerContainer, SizePrices, weightedLoss } from "./size-prices.ts";

/** What the sizes of an application cost an hour: their price, requests over the objective, and changes of size. */
export class ApplicationCost {
  readonly services: readonly ServiceToSize[];
  private readonly routes: readonly RouteToHold[];
  private readonly options: CostOptions;
  private readonly sizes: Size[];
  /** Price per hour of the size of each service. */
  private readonly sizePrices: Float64Array;
  /** {@link priceOf} of the sizes; NaN: to be worked out. */
  private readonly fullPrices: Float64Array;
  /** By load point, then route. Load points of the same load share theirs. */
  private readonly tails: readonly (readonly FlowTail[])[];
  /** The first load point of each load. */
  private readonly distinct: readonly number[];
  private readonly routesOf: readonly (readonly number[])[];
  /** Standard deviation of ln(own tail) of each service, and of each route. */
  private readonly ownSigma: Float64Array;
  private readonly routeSigma: Float64Array;
  /** Expected loss of a request of each route. */
  private readonly loss: Float64Array;
  private readonly gradient: Float64Array;
  /** 1 for routes of which a service has changed its size since {@link loss} and {@link routeSigma} were worked out. */
  private readonly stale: Uint8Array;
  private readonly owns: OwnTails;
  private readonly prices: SizePrices;

  /** @param owns self times of these services at these loads; more than one cost may share them */
  constructor(
    services: readonly ServiceToSize[],
    routes: readonly RouteToHold[],
    options: CostOptions,
    owns = new OwnTails(services, options.loads),
  ) {
    this.owns = owns;
    this.services = services;
    this.routes = routes;
    this.options = options;
    this.sizes = services.map(({ base }) => base);
    this.sizePrices = Float64Array.from(this.sizes, (size) => costPerHour(size, options.prices));
    this.fullPrices = new Float64Array(services.length).fill(Number.NaN);
    this.ownSigma = new Float64Array(services.length);
    this.routeSigma = new Float64Array(routes.length);
    this.gradient = new Float64Array(services.length);
    this.loss = new Float64Array(routes.length);
    const routesOf: number[][] = services.map(() => []);
    for (const [route, { graph }] of routes.entries())
      for (const service of graph.serviceOf) routesOf[service]?.push(route);
    this.routesOf = routesOf;
    this.prices = new SizePrices(services, routes, routesOf, options);
    this.stale = new Uint8Array(routes.length).fill(1);
    const alike = firstAlike(options.loads);
    this.distinct = [...new Set(alike)];
    const tails = new Map(this.distinct.map((load) => [load, this.tailsAt(load)]));
    this.tails = alike.map((load) => tails.get(load) ?? []);
  }

  sizeOf(service: number): Size {
    const size = this.sizes[service];
    if (size === undefined) throw new RangeError(`there is no service ${service}`);
    return size;
  }

  set(service: number, size: Size): void {
    const before = this.sizeOf(service);
    this.sizes[service] = size;
    this.sizePrices[service] = costPerHour(size, this.options.prices);
    this.fullPrices[service] = Number.NaN;
    if (before.replicas === size.replicas && before.cpuCores === size.cpuCores) return;
    const own = this.owns.at(service, size);
    this.put(service, own);
    this.ownSigma[service] = own.sigma;
    for (const route of this.routesOf[service] ?? []) this.stale[route] = 1;
  }

  /** Price per hour of the sizes, of requests over the objective and of changes. */
  total(): number {
    const { missPerHour } = this.options;
    let cost = 0;
    for (let service = 0; service < this.sizes.length; service += 1) cost += this.paidFor(service);
    for (let route = 0; route < this.loss.length; route += 1) cost += missPerHour * this.missOf(route);
    return cost;
  }

  /** Price per hour of the sizes alone. */
  bill(): number {
    let sum = 0;
    for (let service = 0; service < this.sizePrices.length; service += 1)
      sum += this.sizePrices[service] as number;
    return sum;
  }

  /** How much {@link total} would change if the service had this size. */
  trial(service: number, size: Size): number {
    const routes = this.routesOf[service] ?? [];
    let change = this.priceOf(service, size) - this.paidFor(service);
    if (routes.length === 0) return change;
    let missed = 0;
    for (const route of routes) missed -= this.missOf(route);
    this.put(service, this.owns.tailsAt(service, size), true);
    for (const route of routes) missed += this.weighted(route, this.lossOf(route));
    for (const load of this.distinct) for (const route of routes) this.tails[load]?.[route]?.undo();
    change += this.options.missPerHour * missed;
    return change;
  }

  /** Expected share of the route's requests that are over its objective. */
  overOf(route: number): number {
    let stalled = 0;
    for (const service of new Set(this.servicesOf(route)))
      stalled += this.prices.stalledOf(route, service, this.sizeOf(service));
    return Math.min(1, this.expected(route, shareOver) + stalled);
  }

  /** Every route is expected to stay within its error budget. */
  isMet(): boolean {
    return this.routes.every((_, route) => this.isHeld(route));
  }

  /** The same of the routes through a service. */
  isMetThrough(service: number): boolean {
    return this.routesThrough(service).every((route) => this.isHeld(route));
  }

  private isHeld(route: number): boolean {
    return this.overOf(route) <= this.routeOf(route).budget;
  }

  /** Predicted percentile of the route at the median load, seconds. */
  tailOf(route: number, load = 0): number {
    const { excessSeconds = 0, factor = 1 } = this.routes[route] ?? {};
    return factor * (this.tails[load]?.[route]?.tailSeconds ?? 0) + excessSeconds;
  }

  /** Predicted percentile of the slowest route through a service at the median load, seconds; undefined off every route. */
  slowestTailThrough(service: number): number | undefined {
    const tails = (this.routesOf[service] ?? []).map((route) => this.tailOf(route));
    return tails.length === 0 ? undefined : tails.reduce((most, tail) => Math.max(most, tail));
  }

  /** {@link comparableTail} of the worst route of all. */
  worstTailSeconds(): number {
    return this.routes.reduce((most, _, route) => Math.max(most, this.comparableTail(route)), 0);
  }

  /** A route's tail in proportion to its objective, in seconds of {@link CostOptions.objectiveSeconds}. */
  comparableTail(route: number, tailSeconds = this.tailOf(route)): number {
    const { objectiveSeconds = 1 } = this.routes[route] ?? {};
    return tailSeconds * (this.options.objectiveSeconds / objectiveSeconds);
  }

  /**
   * The same if a service had another size, all else as it is.
   * @param tails {@link comparableTail} of each route
   */
  worstTailIf(service: number, size: Size, tails: readonly number[]): number {
    const through = this.routesThrough(service);
    const own = this.owns.tailsAt(service, size).tailSeconds[0] ?? 0;
    let worst = through.reduce(
      (most, route) => Math.max(most, this.comparableTail(route, this.tailIf(route, service, own))),
      0,
    );
    for (let route = 0; route < tails.length; route += 1) {
      const tail = tails[route] as number;
      if (tail > worst && !through.includes(route)) worst = tail;
    }
    return worst;
  }

  /** Expected share of all requests that are over their objective. */
  expectedOver(): number {
    return this.routes.reduce((sum, { share }, route) => sum + share * this.overOf(route), 0);
  }

  /** Expected loss of the requests of all routes, each times its worth over its error budget. */
  expectedLoss(): number {
    return this.routes.reduce((sum, _, route) => sum + this.missOf(route), 0);
  }

  /** Standard deviation of ln(own tail) of a service at its size. */
  ownSigmaOf(service: number): number {
    return this.ownSigma[service] ?? 0;
  }

  sigmaOf(route: number): number {
    this.refresh(route);
    return this.routeSigma[route] ?? 0;
  }

  /** Numbers of the routes through a service. */
  routesThrough(service: number): readonly number[] {
    return this.routesOf[service] ?? [];
  }

  get routeCount(): number {
    return this.routes.length;
  }

  /** Numbers of the services of a route. */
  servicesOf(route: number): Int32Array {
    return this.routes[route]?.graph.serviceOf ?? new Int32Array();
  }

  /** The median load over that of the last window. */
  get loadRatio(): number {
    return this.options.loads[0]?.factor ?? 1;
  }

  get loadCount(): number {
    return this.options.loads.length;
  }

  /** Self times of a service at a size. */
  ownAt(service: number, size: Size): SizedTails {
    return this.owns.at(service, size);
  }

  routeOf(route: number): RouteToHold {
    const held = this.routes[route];
    if (held === undefined) throw new RangeError(`there is no route ${route}`);
    return held;
  }

  /** {@link tailOf} at the median load if a service's self-time tail were another, all else as it is. */
  tailIf(route: number, service: number, ownTailSeconds: number): number {
    const { excessSeconds, factor } = this.routeOf(route);
    return factor * (this.tails[0]?.[route]?.tailIf(service, ownTailSeconds) ?? 0) + excessSeconds;
  }

  /**
   * Adds `d {@link tailOf} / d self-time tail` of each service of a route at the median load to `slopes`, by service number.
   * @param ownTails of services that are supposed to take another time, seconds, by service number; 0: as they are
   */
  addTailSlopes(route: number, slopes: Float64Array, ownTails: readonly number[] = []): void {
    const tail = this.tails[0]?.[route];
    if (tail === undefined) return;
    const before = ownTails.map((_, service) => tail.ownTailOf(service));
    for (const [service, seconds] of ownTails.entries()) if (seconds > 0) tail.setOwnTail(service, seconds);
    tail.addGradient(this.routeOf(route).factor, slopes);
    for (const [service, seconds] of before.entries()) tail.setOwnTail(service, seconds);
  }

  /** Forgets self times of all sizes but the present ones and those of one replica more. */
  forgetOtherSizes(): void {
    for (const [service, size] of this.sizes.entries()) this.owns.keep(service, size);
  }

  /** Requests per second to each of its containers at a size. */
  loadOf(service: number, size: Size, load: number): number {
    return loadPerContainer(this.services[service], size, this.options.loads[load]?.factor);
  }

  /** Its self-time tails alone. */
  ownTailsAt(service: number, size: Size): SizedTail {
    return this.owns.tailsAt(service, size);
  }

  /** The same if they have been worked out before; undefined otherwise. */
  knownOwnTailsAt(service: number, size: Size): SizedTail | undefined {
    return this.owns.find(service, size);
  }

  /** What is missed of one route's objective costs per hour. */
  missPerHourOf(route: number): number {
    return this.options.missPerHour * this.missOf(route);
  }

  /** Adds `d total / d self-time tail` of each service by way of one route at one load point to `slopes`, by service number. */
  addSlopes(route: number, load: number, slopes: Float64Array): void {
    const { factor = 1, objectiveSeconds = 1, spread = 1 } = this.routes[route] ?? {};
    const { loads, missPerHour, quantile } = this.options;
    const sigma = this.sigmaOf(route);
    const tailSeconds = this.tailOf(route, load);
    const byTail = lossByTail({ tailSeconds, quantile, spread, sigma }, objectiveSeconds);
    const weight = missPerHour * this.weighted(route, (loads[load]?.weight ?? 0) * byTail * factor);
    if (weight > 0) this.tails[load]?.[route]?.addGradient(weight, slopes);
  }

  /** {@link priceOf} of the size that it has. */
  paidFor(service: number): number {
    if (Number.isNaN(this.fullPrices[service]))
      this.fullPrices[service] = this.priceOf(service, this.sizeOf(service));
    return this.fullPrices[service] as number;
  }

  /** Price per hour of a size and of the change to it, with what requests to containers that warm up miss. */
  priceOf(service: number, size: Size): number {
    return this.prices.of(service, size);
  }

  /** The same but for what is missed. */
  leastPriceOf(service: number, size: Size): number {
    return this.prices.leastOf(service, size);
  }

  private missOf(route: number): number {
    this.refresh(route);
    return this.weighted(route, this.loss[route] ?? 0);
  }

  private weighted(route: number, loss: number): number {
    return weightedLoss(this.routes[route], loss);
  }

  private refresh(route: number): void {
    if (this.stale[route] === 0) return;
    this.stale[route] = 0;
    const { sigma = 0 } = this.routes[route] ?? {};
    this.routeSigma[route] = Math.hypot(sigma, this.composedSigma(route));
    this.loss[route] = this.lossOf(route);
  }

  private lossOf(route: number): number {
    return this.expected(route, expectedLoss);
  }

  /** Mean over the loads that may come. */
  private expected(route: number, measure: typeof shareOver): number {
    const { objectiveSeconds = 1, spread = 1 } = this.routes[route] ?? {};
    const { loads, quantile } = this.options;
    const sigma = this.sigmaOf(route);
    let sum = 0;
    for (let load = 0; load < loads.length; load += 1) {
      const { weight = 0 } = loads[load] ?? {};
      const tailSeconds = this.tailOf(route, load);
      sum += weight * measure({ tailSeconds, quantile, spread, sigma }, objectiveSeconds);
    }
    return sum;
  }

  /** What the services' uncertainty makes of the route's, to first order. */
  private composedSigma(route: number): number {
    const flow = this.tails[0]?.[route];
    const services = this.routes[route]?.graph.serviceOf ?? [];
    const tail = this.tailOf(route);
    if (flow === undefined || !(tail > 0)) return 0;
    for (const service of services) this.gradient[service] = 0;
    flow.addGradient(1, this.gradient);
    let square = 0;
    for (const service of services) {
      const own = flow.ownTailOf(service);
      square += (((this.gradient[service] ?? 0) * own * (this.ownSigma[service] ?? 0)) / tail) ** 2;
    }
    return Math.sqrt(square);
  }

  private tailsAt(load: number): FlowTail[] {
    const ownTail = new Float64Array(this.services.length);
    const meanOverTail = new Float64Array(this.services.length);
    for (const service of this.services.keys()) {
      const sized = this.owns.at(service, this.sizeOf(service));
      ownTail[service] = sized.tailSeconds[load] ?? 0;
      meanOverTail[service] = sized.meanOverTail[load] ?? 1;
      this.ownSigma[service] = sized.sigma;
    }
    return this.routes.map(({ graph }) => new FlowTail(graph, ownTail, meanOverTail));
  }

  /** Composes the routes through a service with these self times. */
  private put(service: number, { tailSeconds }: SizedTail, isTrial = false): void {
    const routes = this.routesOf[service] ?? [];
    for (const load of this.distinct) {
      const tails = this.tails[load] ?? [];
      const ownTail = tailSeconds[load] ?? 0;
      for (const route of routes) {
        if (isTrial) tails[route]?.trySet(service, ownTail);
        else tails[route]?.setOwnTail(service, ownTail);
      }
    }
  }
}
