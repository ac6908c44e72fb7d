import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Prices } from "@tradewind/core/contract/prices.ts";
import type { Size } from "../../facts/size.ts";
import type { OwnTime } from "../../../models/queue/tracked-profile.ts";
import type { CostOptions, RouteToHold, ServiceToSize } from "./cost-inputs.ts";
import { CFS_PERIOD_SECONDS } from "../../../models/queue/queue-curve.ts";
import { expectedLoss } from "./route-cost.ts";

/** Price per hour of one of its containers. */
const containerPerHour = (
  { cpuCores, memoryBytes }: Size,
  { cpuCoreHour, memoryGigabyteHour }: Prices,
): number => cpuCores * cpuCoreHour + (memoryBytes / 1e9) * memoryGigabyteHour;

/** Price per hour of the containers that start or stop, and of what is added to the others. */
function changedPerHour(base: Size, size: Size, prices: Prices): number {
  const before = containerPerHour(base, prices);
  const after = containerPerHour(size, prices);
  const started = Math.max(0, size.replicas - base.replicas) * after;
  const stopped = Math.max(0, base.replicas - size.replicas) * before;
  return started + stopped + Math.min(base.replicas, size.replicas) * Math.max(0, after - before);
}

/** Requests per second to each of so many containers. */
export const loadPerContainer = (
  service: ServiceToSize | undefined,
  { replicas }: Size,
  factor = 1,
): number => (factor * (service?.requestsPerSecond ?? 0)) / Math.max(1, replicas);

/** Loss of a request of a route in error budgets of the whole application. */
export const weightedLoss = (route: RouteToHold | undefined, loss: number): number =>
  route === undefined ? 0 : (route.share * route.weight * loss) / route.budget;

/** What sizes cost an hour apart from the objective that is missed with them. */
export class SizePrices {
  private readonly services: readonly ServiceToSize[];
  private readonly routes: readonly RouteToHold[];
  private readonly routesOf: readonly (readonly number[])[];
  private readonly options: CostOptions;
  private readonly young: OwnTime = {
    meanSeconds: 0,
    tailSeconds: 0,
    sigma: 0,
    tailByCores: 0,
    tailByLoad: 0,
  };

  /** @param routesOf numbers of the routes through each service */
  constructor(
    services: readonly ServiceToSize[],
    routes: readonly RouteToHold[],
    routesOf: readonly (readonly number[])[],
    options: CostOptions,
  ) {
    this.services = services;
    this.routes = routes;
    this.routesOf = routesOf;
    this.options = options;
  }

  /** Price of a size and of the change to it, with what requests to containers that warm up miss. */
  of(service: number, size: Size): number {
    return this.leastOf(service, size) + this.warmUpOf(service, size);
  }

  /** The same without what warm-up misses. CPU that containers still have beyond a smaller size costs, and so do stalls of CPU quotas. */
  leastOf(service: number, size: Size): number {
    const { changeRatio, lateRatio, missPerHour, prices } = this.options;
    const { base = size, runningCores = 0 } = this.services[service] ?? {};
    const change = changeRatio * changedPerHour(base, size, prices);
    const late = lateRatio * size.replicas * Math.max(0, runningCores - size.cpuCores) * prices.cpuCoreHour;
    let stalled = 0;
    for (const route of this.routesOf[service] ?? [])
      stalled += weightedLoss(this.routes[route], this.stalledOf(route, service, size));
    return costPerHour(size, prices) + change + late + missPerHour * stalled;
  }

  /** Share of a route's requests that stalls of a service's CPU quota take over the objective: mean over the loads that may come. */
  stalledOf(route: number, service: number, size: Size): number {
    const { requestsPerSecond = 0, stalled } = this.services[service] ?? {};
    const { objectiveSeconds = 1 } = this.routes[route] ?? {};
    if (stalled === undefined || objectiveSeconds >= CFS_PERIOD_SECONDS) return 0;
    let share = 0;
    for (const { factor, weight } of this.options.loads) {
      const load = (factor * requestsPerSecond) / Math.max(1, size.replicas);
      share += weight * stalled({ cpuLimitCores: size.cpuCores, requestsPerSecond: load, objectiveSeconds });
    }
    return share;
  }

  /**
   * Price per hour of requests that miss their objective in containers that warm up: each added one gets its share of them at once. One
   * that runs and was to stop is not added where it is kept after all.
   */
  private warmUpOf(service: number, { cpuCores, replicas }: Size): number {
    const { base, own: selfTime, pods, warmUpFactor = 1 } = this.services[service] ?? {};
    if (selfTime === undefined || base === undefined || warmUpFactor <= 1) return 0;
    const added = replicas - Math.max(base.replicas, pods?.taken ?? 0);
    if (added <= 0) return 0;
    const { loads, missPerHour, quantile, warmUpRatio } = this.options;
    const size = { ...base, cpuCores, replicas };
    const load = loadPerContainer(this.services[service], size, loads[0]?.factor);
    selfTime(size, warmUpFactor * load, this.young, true);
    const tailSeconds = warmUpFactor * this.young.tailSeconds;
    let missed = 0;
    for (const route of this.routesOf[service] ?? []) {
      const { objectiveSeconds = 1, spread = 1 } = this.routes[route] ?? {};
      const loss = expectedLoss({ tailSeconds, quantile, spread, sigma: 0 }, objectiveSeconds);
      missed += weightedLoss(this.routes[route], loss);
    }
    return missPerHour * warmUpRatio * (added / replicas) * missed;
  }
}
