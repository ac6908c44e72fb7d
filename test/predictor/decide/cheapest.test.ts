import { seededRng } from "@tradewind/core/values/rng.ts";
import type { ApplicationCost } from "@tradewind/predictor/decide/cost/price/application-cost.ts";
import type { ServiceToSize, TotalLimits } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { cheapest } from "@tradewind/predictor/decide/cost/solve/cheapest.ts";
import { Totals } from "@tradewind/predictor/decide/cost/solve/limits.ts";
import type { Size } from "@tradewind/predictor/decide/facts/size.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chain, cliff, queueing, service, size } from "./priced.ts";

const STEPS = 2_000;

function found(
  services: readonly ServiceToSize[],
  limits: TotalLimits = {},
  roomy: readonly Size[] = services.map(({ base, ceiling }) => ({ ...base, replicas: ceiling.replicas })),
  make: (all: readonly ServiceToSize[]) => ApplicationCost = chain,
): ApplicationCost {
  return cheapest(() => make(services), roomy, limits, STEPS);
}

const replicasOf = (cost: ApplicationCost): number[] =>
  cost.services.map((_, at) => cost.sizeOf(at).replicas);

/** All sizes of a service on its grid. */
function gridOf({ ceiling, floor, stepCpuCores }: ServiceToSize): Size[] {
  const all: Size[] = [];
  for (let replicas = floor.replicas; replicas <= ceiling.replicas; replicas += 1) {
    if (stepCpuCores === 0) all.push(size(replicas));
    else
      for (let step = 0; floor.cpuCores + step * stepCpuCores <= ceiling.cpuCores + 1e-9; step += 1)
        all.push(size(replicas, floor.cpuCores + step * stepCpuCores));
  }
  return all;
}

function leastOfAll(
  services: readonly [ServiceToSize, ServiceToSize],
  isAllowed: (cost: ApplicationCost) => boolean = () => true,
): number {
  const cost = chain(services);
  let least = Number.POSITIVE_INFINITY;
  for (const first of gridOf(services[0])) {
    cost.set(0, first);
    for (const second of gridOf(services[1])) {
      cost.set(1, second);
      if (isAllowed(cost)) least = Math.min(least, cost.total());
    }
  }
  return least;
}

describe("the search for the cheapest sizes", () => {
  it("finds replicas that cost as little as the best of all 36 combinations", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = seededRng(seed);
      const make = (name: string): ServiceToSize =>
        service(name, { own: queueing(0.02 + 0.05 * random(), 0.01 + 0.02 * random()) });
      const services = [make("a"), make("b")] as const;
      expect(found(services).total()).toBeCloseTo(leastOfAll(services), 9);
    }
  });

  it("comes within 5 % of the best of all combinations of replicas and cores", () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const random = seededRng(seed);
      const make = (name: string): ServiceToSize =>
        service(name, { own: queueing(0.02 + 0.05 * random(), 0.01 + 0.02 * random()), stepCpuCores: 0.25 });
      const services = [make("a"), make("b")] as const;
      const least = leastOfAll(services);
      expect(found(services).total()).toBeGreaterThan(least - 1e-9);
      expect(found(services).total()).toBeLessThan(1.05 * least);
    }
  });

  it("gives the room on a node to what lowers the cost most: within 2 % of the best of all that fits in 39 of 40, and never over 10 %", () => {
    const ratios: number[] = [];
    for (let seed = 1; seed <= 40; seed += 1) {
      const random = seededRng(seed);
      const make = (name: string): ServiceToSize =>
        service(name, {
          own: queueing(0.02 + 0.05 * random(), 0.01 + 0.02 * random()),
          base: size(1),
          floor: size(1),
          ceiling: size(3, 2.5),
          stepCpuCores: 0.25,
          runningCores: 1,
          pods: { taken: 1, requestRatio: 1, sidecarCores: 0 },
        });
      const services = [make("a"), make("b")] as const;
      const pods = services.map(({ name }) => ({ service: name, pods: 1 }));
      const nodes = [{ name: "n0", leftCores: 2 * random(), takesPods: true, pods }];
      const fits = (cost: ApplicationCost): boolean => {
        const { headroom } = new Totals(cost, { nodes });
        return headroom?.isKept === true;
      };
      const cost = found(services, { nodes });
      expect(fits(cost)).toBe(true);
      ratios.push(cost.total() / leastOfAll(services, fits));
    }
    expect(ratios.filter((ratio) => ratio > 1.02).length).toBeLessThanOrEqual(1);
    expect(Math.max(...ratios)).toBeLessThan(1.1);
  });

  it("sizes two services that hold up the same requests, though one step of either helps nobody", () => {
    // Each needs 4 containers for 60 requests per second: with fewer it takes 10 s.
    const services = ["a", "b"].map((name) => service(name, { own: cliff(15) }));
    expect(replicasOf(found(services))).toEqual([4, 4]);
  });

  it("leaves alone what is cheapest already", () => {
    const services = ["a", "b"].map((name) => service(name));
    const best = found(services);
    const rested = services.map((each, at) => Object.assign({}, each, { base: best.sizeOf(at) }));
    expect(replicasOf(found(rested))).toEqual(replicasOf(best));
  });

  it("shrinks a service that has far more than it needs", () => {
    const idle = service("idle", { requestsPerSecond: 1, base: size(6) });
    expect(replicasOf(found([idle]))).toEqual([1]);
  });

  it("takes no more pods than the application may have, and gives them to the service that is short of them", () => {
    const busy = service("busy", { own: queueing(0.03, 0.05) });
    const calm = service("calm", { requestsPerSecond: 1 });
    const [more, fewer] = replicasOf(found([busy, calm], { pods: 5 }));
    expect(more! + fewer!).toBeLessThanOrEqual(5);
    expect(more).toBe(4);
  });

  it("takes back what costs least where the application has more than it may have", () => {
    const services = [
      service("busy", { base: size(6), own: queueing(0.03, 0.05) }),
      service("calm", { base: size(6) }),
    ];
    const [busy, calm] = replicasOf(found(services, { pods: 7 }));
    expect(busy! + calm!).toBeLessThanOrEqual(7);
    expect(busy).toBeGreaterThan(calm!);
  });

  it("takes no more cores than all nodes have", () => {
    const services = ["a", "b"].map((name) =>
      service(name, { own: queueing(0.03, 0.05), stepCpuCores: 0.25 }),
    );
    const cost = found(services, { cpuCores: 4.5 });
    const cores = services.reduce(
      (sum, _, at) => sum + cost.sizeOf(at).replicas * cost.sizeOf(at).cpuCores,
      0,
    );
    expect(cores).toBeLessThanOrEqual(4.5 + 1e-6);
    expect(cores).toBeGreaterThan(4);
  });

  it("shares out what the limits leave where that is less than the least sizes", () => {
    const services = ["a", "b"].map((name) => service(name, { base: size(4), floor: size(3) }));
    expect(replicasOf(found(services, { pods: 4 }))).toEqual([2, 2]);
  });

  it("never goes below a floor or above a ceiling", () => {
    const load = fc.double({ min: 0, max: 2_000, noNaN: true });
    fc.assert(
      fc.property(load, load, fc.integer({ min: 1, max: 6 }), (first, second, replicas) => {
        const services = [first, second].map((requestsPerSecond, at) =>
          service(String(at), {
            requestsPerSecond,
            base: size(replicas),
            floor: size(Math.min(2, replicas), 0.5),
            stepCpuCores: 0.25,
          }),
        );
        const cost = found(services);
        for (const [at, { ceiling, floor }] of services.entries()) {
          const { cpuCores, replicas: chosen } = cost.sizeOf(at);
          expect(chosen).toBeGreaterThanOrEqual(floor.replicas);
          expect(chosen).toBeLessThanOrEqual(ceiling.replicas);
          expect(cpuCores).toBeGreaterThanOrEqual(floor.cpuCores);
          expect(cpuCores).toBeLessThanOrEqual(ceiling.cpuCores + 1e-9);
        }
      }),
      { numRuns: 40 },
    );
  });
});
