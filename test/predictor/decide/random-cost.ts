import type { FlowWindow } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { syntheticApplication } from "../../../bench/plan/application.ts";
import type { ApplicationCost } from "../../../predictor/decide/cost/price/application-cost.ts";
import type {
  CostOptions,
  RouteToHold,
  ServiceToSize,
} from "../../../predictor/decide/cost/price/cost-inputs.ts";
import { loadPoints } from "../../../predictor/decide/cost/price/cost-inputs.ts";
import { compileFlow, serviceIndex } from "../../../predictor/models/route/call-graph.ts";
import { costPerHour } from "@tradewind/core/contract/prices.ts";
import type { Size } from "../../../predictor/decide/facts/size.ts";

const PRICES = { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 };

export interface RandomApplication {
  readonly services: readonly ServiceToSize[];
  readonly routes: readonly RouteToHold[];
  readonly options: CostOptions;
  readonly roomy: readonly Size[];
}

/** Processor sharing, straight on from 95 % of the CPU; the derivatives are those of the same curve. */
function ownTimes(demandSeconds: number): NonNullable<ServiceToSize["own"]> {
  return ({ cpuCores }, load, out) => {
    const used = (load * demandSeconds) / cpuCores;
    const isFull = used > 0.95;
    const stretch = isFull ? 20 + (used - 0.95) * 400 : 1 / (1 - used);
    const byUse = isFull ? 400 : stretch ** 2;
    out.meanSeconds = demandSeconds * stretch;
    out.tailSeconds = 3 * out.meanSeconds;
    out.sigma = 0.1;
    out.tailByLoad = (3 * demandSeconds * byUse * demandSeconds) / cpuCores;
    out.tailByCores = (-3 * demandSeconds * byUse * used) / cpuCores;
  };
}

/** An application at random sizes, in part overloaded. */
export function randomApplication(seed: number, count: number): RandomApplication {
  const rng = seededRng(seed);
  const { flows, services: names } = syntheticApplication(count, rng);
  const services = names.map((name): ServiceToSize => {
    const demandSeconds = 0.001 + 0.009 * rng();
    const replicas = 1 + Math.floor(6 * rng());
    const base = { replicas, cpuCores: 0.5, memoryBytes: 2e8 };
    const requestsPerSecond = ((0.1 + 0.9 * rng()) * replicas * base.cpuCores) / demandSeconds;
    const isFixed = rng() < 0.2;
    return {
      name,
      requestsPerSecond,
      base,
      floor: { ...base, replicas: 1, cpuCores: isFixed ? 0.5 : 0.1 },
      ceiling: { ...base, replicas: 3 * replicas + 4, cpuCores: isFixed ? 0.5 : 1.5 },
      stepCpuCores: isFixed ? 0 : 0.2,
      own: ownTimes(demandSeconds),
      measured: { meanSeconds: 0.01, tailSeconds: 0.03 },
    };
  });
  const least = services.reduce((sum, { floor }) => sum + costPerHour(floor, PRICES), 0);
  const objectiveSeconds = 0.1 + 0.6 * rng();
  return {
    services,
    routes: routesOf(flows, names, objectiveSeconds),
    options: {
      prices: PRICES,
      missPerHour: least * (0.5 + rng()),
      objectiveSeconds,
      quantile: 1.645,
      loads: loadPoints({ ratio: 1 + 0.3 * rng(), sigma: 0.3 * rng(), mostRatio: 2 }),
      changeRatio: 0.25,
      lateRatio: 0.5,
      warmUpRatio: 0.4,
    },
    roomy: services.map(({ base, ceiling }) => ({
      ...base,
      replicas: Math.min(ceiling.replicas, 2 * base.replicas + 1),
    })),
  };
}

function routesOf(
  flows: readonly FlowWindow[],
  names: readonly string[],
  objectiveSeconds: number,
): RouteToHold[] {
  const index = serviceIndex(names);
  const set = { startMs: 0, endMs: 15_000, windows: [], flows: [] };
  return flows.flatMap((flow): RouteToHold[] => {
    const graph = compileFlow(flow, set, index);
    if (graph === undefined) return [];
    const common = {
      share: 1 / flows.length,
      weight: 1,
      budget: 0.05,
      excessSeconds: 0,
      factor: 1,
      spread: 0.6,
      sigma: 0.1,
    };
    return [{ graph, objectiveSeconds, ...common }];
  });
}

/** The sizes one step away from a size. */
export function neighbours({ ceiling, floor, stepCpuCores }: ServiceToSize, size: Size): Size[] {
  const at = (replicas: number, cpuCores: number): Size => ({ ...size, replicas, cpuCores });
  const { cpuCores, replicas } = size;
  const sizes = [at(replicas - 1, cpuCores), at(replicas + 1, cpuCores)];
  if (stepCpuCores > 0) {
    sizes.push(at(replicas, Math.max(floor.cpuCores, cpuCores - stepCpuCores)));
    sizes.push(at(replicas, Math.min(ceiling.cpuCores, cpuCores + stepCpuCores)));
  }
  return sizes.filter(
    (each) =>
      each.replicas >= floor.replicas &&
      each.replicas <= ceiling.replicas &&
      Math.abs(each.cpuCores - cpuCores) + Math.abs(each.replicas - replicas) > 1e-9,
  );
}

/** The search that evaluates every step exactly. @returns exact evaluations it took */
export function descendExhaustively(cost: ApplicationCost): number {
  let trials = 0;
  for (;;) {
    let best: (() => void) | undefined;
    let least = -1e-9 * Math.max(1, cost.bill());
    for (const [service, each] of cost.services.entries()) {
      for (const size of neighbours(each, cost.sizeOf(service))) {
        trials += 1;
        const change = cost.trial(service, size);
        if (change >= least) continue;
        least = change;
        best = () => {
          cost.set(service, size);
        };
      }
    }
    if (best === undefined) return trials;
    best();
  }
}
