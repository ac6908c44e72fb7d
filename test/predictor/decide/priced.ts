import { ApplicationCost } from "@tradewind/predictor/decide/cost/price/application-cost.ts";
import type {
  CostOptions,
  RouteToHold,
  ServiceToSize,
} from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { normalQuantile } from "@tradewind/predictor/decide/cost/price/route-cost.ts";
import type { Size } from "@tradewind/predictor/decide/facts/size.ts";
import { graphOf } from "./given.ts";
import type { CallsOf } from "./given.ts";

type OwnTimes = NonNullable<ServiceToSize["own"]>;

export const size = (replicas: number, cpuCores = 1): Size => ({ replicas, cpuCores, memoryBytes: 0 });

/** This tail without load, more as `cpuSeconds` of each request fill the container, and ever more beyond that. */
export const queueing =
  (baseSeconds: number, cpuSeconds: number, sigma = 0): OwnTimes =>
  ({ cpuCores }, loadPerContainer, out) => {
    const cores = Math.max(0.01, cpuCores);
    const full = (loadPerContainer * cpuSeconds) / cores;
    const slope = baseSeconds * (full < 0.9 ? 1 / (1 - full) ** 2 : 100);
    out.tailSeconds = baseSeconds * (full < 0.9 ? 1 / (1 - full) : 10 + 100 * (full - 0.9));
    out.tailByLoad = (slope * cpuSeconds) / cores;
    out.tailByCores = (-slope * full) / cores;
    out.meanSeconds = out.tailSeconds / 3;
    out.sigma = sigma;
  };

/** An own time that is long until all of the load is carried, and no step before helps. */
export const cliff =
  (mostLoadPerContainer: number): OwnTimes =>
  (_, loadPerContainer, out) => {
    out.tailSeconds = loadPerContainer > mostLoadPerContainer ? 10 : 0.02;
    out.tailByLoad = 0;
    out.tailByCores = 0;
    out.meanSeconds = out.tailSeconds / 3;
    out.sigma = 0;
  };

export function service(name: string, overrides: Partial<ServiceToSize> = {}): ServiceToSize {
  return {
    name,
    requestsPerSecond: 60,
    base: size(2),
    floor: size(1, 0.5),
    ceiling: size(6, 2),
    stepCpuCores: 0,
    own: queueing(0.03, 0.02),
    measured: { meanSeconds: 0.01, tailSeconds: 0.03 },
    ...overrides,
  };
}

export function route(
  names: readonly string[],
  calls: CallsOf,
  overrides: Partial<RouteToHold> = {},
): RouteToHold {
  return {
    graph: graphOf(names, calls),
    share: 1,
    weight: 1,
    objectiveSeconds: 0.2,
    budget: 0.05,
    excessSeconds: 0,
    factor: 1,
    spread: 0.5,
    sigma: 0,
    ...overrides,
  };
}

export const options = (overrides: Partial<CostOptions> = {}): CostOptions => ({
  prices: { cpuCoreHour: 1, memoryGigabyteHour: 0 },
  missPerHour: 3,
  objectiveSeconds: 0.2,
  quantile: normalQuantile(0.95),
  loads: [{ factor: 1, weight: 1 }],
  changeRatio: 0,
  lateRatio: 0,
  warmUpRatio: 0.4,
  ...overrides,
});

/** Services that call each other one after the other, on one route. */
export function chain(
  services: readonly ServiceToSize[],
  overrides: Partial<CostOptions> = {},
  held: Partial<RouteToHold> = {},
): ApplicationCost {
  const names = services.map(({ name }) => name);
  const calls = names.slice(1).map((callee, at) => [names[at]!, callee, 1] as const);
  return new ApplicationCost(services, [route(names, calls, held)], options(overrides));
}
