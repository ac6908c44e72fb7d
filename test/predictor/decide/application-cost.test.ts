import { ApplicationCost } from "@tradewind/predictor/decide/cost/price/application-cost.ts";
import { loadPoints } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chain, options, queueing, route, service, size } from "./priced.ts";

const fixed = (tailSeconds: number) =>
  service("only", { own: (_, __, out) => Object.assign(out, { tailSeconds, meanSeconds: 0.1, sigma: 0 }) });

describe("the cost of an application's sizes", () => {
  it("is the price of the containers and what is missed: 2 and 3.6268 for a route at its objective", () => {
    const cost = chain([fixed(0.2)]);
    // Loss 0.05 + (−1.6449 · 0.5) · 0.05 + 0.5 · φ(1.6449) = 0.060447; times 3 over a budget of 0.05.
    expect(cost.bill()).toBe(2);
    expect(cost.total()).toBeCloseTo(2 + 3.6268, 3);
    expect(cost.overOf(0)).toBeCloseTo(0.05, 6);
    expect(cost.expectedOver()).toBeCloseTo(0.05, 6);
  });

  it("counts memory at its own price", () => {
    const memoryBytes = 4e9;
    const cost = chain([{ ...fixed(1e-9), base: { ...size(3), memoryBytes } }], {
      prices: { cpuCoreHour: 1, memoryGigabyteHour: 0.25 },
    });
    expect(cost.bill()).toBeCloseTo(3 * (1 + 1), 9);
  });

  it("prices what is added and what is removed alike, by the share of its price that a change costs", () => {
    const cost = chain([fixed(1e-9)], { changeRatio: 0.25 });
    expect(cost.trial(0, size(4))).toBeCloseTo(2 + 0.25 * 2, 6);
    expect(cost.trial(0, size(1))).toBeCloseTo(-1 + 0.25 * 1, 6);
  });

  it("prices the requests that added containers miss while they warm up, fewer with more of them", () => {
    // A third container gets 13 requests a second, of which each takes 60 ms of its CPU at first.
    const own = queueing(0.03, 0.02);
    const at = (warmUpFactor?: number) =>
      chain([service("only", { own, requestsPerSecond: 40, warmUpFactor })]);
    const ofStart = (replicas: number): number =>
      at(3).priceOf(0, size(replicas)) - at().priceOf(0, size(replicas));
    expect(ofStart(2)).toBe(0);
    expect(ofStart(1)).toBe(0);
    expect(ofStart(3)).toBeGreaterThan(1);
    expect(ofStart(12)).toBeLessThan(ofStart(3));
    expect(at(1).priceOf(0, size(3))).toBe(at().priceOf(0, size(3)));
  });

  it("prices no warm-up of containers that were to stop and still run (slow-hpa, seed 71001: from 1 over 2 that ran to 3)", () => {
    const own = queueing(0.03, 0.02);
    const pods = { taken: 3, requestRatio: 1, sidecarCores: 0 };
    const at = (warmUpFactor?: number) =>
      chain([service("only", { own, requestsPerSecond: 40, warmUpFactor, pods })]);
    const ofStart = (replicas: number): number =>
      at(3).priceOf(0, size(replicas)) - at().priceOf(0, size(replicas));
    expect(ofStart(3)).toBe(0);
    expect(ofStart(4)).toBeGreaterThan(0);
  });

  it("prices a start and larger containers, though what they take the place of had the same price", () => {
    const cost = chain([fixed(1e-9)], { changeRatio: 0.25 });
    // Two of one core become four of half a core: two started at half a core. Or one of two: one stopped, one given a core.
    expect(cost.trial(0, size(4, 0.5))).toBeCloseTo(0.25 * 1, 6);
    expect(cost.trial(0, size(1, 2))).toBeCloseTo(0.25 * (1 + 1), 6);
  });

  it("prices CPU that containers give back late: two of 0.5 cores that run with 2 cost 1 and half of the 3 too many", () => {
    const cost = chain([{ ...fixed(1e-9), runningCores: 2 }], { lateRatio: 0.5 });
    expect(cost.priceOf(0, size(2, 0.5))).toBeCloseTo(1 + 0.5 * 3, 9);
    expect(cost.priceOf(0, size(2, 2))).toBeCloseTo(4, 9);
    expect(cost.priceOf(0, size(2, 3))).toBeCloseTo(6, 9);
  });

  it("weighs a route by its share of the requests", () => {
    const missed = (share: number): number => chain([fixed(0.2)], {}, { share }).total() - 2;
    expect(missed(0.25)).toBeCloseTo(missed(1) / 4, 9);
  });

  it("adds what lies outside the services to the route's tail, after the factor", () => {
    const cost = chain([fixed(0.1)], {}, { factor: 0.8, excessSeconds: 0.05 });
    expect(cost.tailOf(0)).toBeCloseTo(0.8 * 0.1 + 0.05, 6);
    expect(cost.worstTailSeconds()).toBeCloseTo(0.13, 6);
    expect(cost.slowestTailThrough(0)).toBeCloseTo(0.13, 6);
  });

  it("adds the uncertainty of the service and of the route as variances: 0.3 and 0.4 make 0.5", () => {
    const cost = chain([service("only", { own: queueing(0.03, 0.02, 0.4) })], {}, { sigma: 0.3 });
    expect(cost.ownSigmaOf(0)).toBe(0.4);
    expect(cost.sigmaOf(0)).toBeCloseTo(0.5, 9);
  });

  it("counts the uncertainty of each service by its part of the route's tail", () => {
    const sure = service("sure", { own: queueing(0.06, 0.001) });
    const unsure = service("unsure", { own: queueing(0.01, 0.001, 0.4) });
    const sigma = chain([sure, unsure]).sigmaOf(0);
    expect(sigma).toBeGreaterThan(0);
    expect(sigma).toBeLessThan(0.2);
  });

  it("keeps a service without a model at the own time that was measured, whatever its size", () => {
    const { own: _, ...unknown } = service("unknown");
    const cost = chain([unknown]);
    const before = cost.tailOf(0);
    cost.set(0, size(6));
    expect(cost.tailOf(0)).toBe(before);
  });

  it("has no latency through a service that is on no route", () => {
    const cost = new ApplicationCost([service("a"), service("b")], [route(["a", "b"], [])], options());
    expect(cost.slowestTailThrough(1)).toBeUndefined();
    expect(cost.trial(1, size(3))).toBe(1);
  });

  it("a trial says by how much setting the size changes the total, and changes nothing itself", () => {
    const sizes = fc.tuple(fc.integer({ min: 1, max: 8 }), fc.double({ min: 0.2, max: 2, noNaN: true }));
    const moves = fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), sizes), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), moves, (seed, list) => {
        const cost = twoRoutes(seed);
        for (const [at, [replicas, cpuCores]] of list) {
          const before = cost.total();
          const change = cost.trial(at, size(replicas, cpuCores));
          expect(cost.total()).toBe(before);
          cost.set(at, size(replicas, cpuCores));
          expect(Math.abs(cost.total() - before - change)).toBeLessThan(1e-9 * (1 + before + cost.total()));
        }
      }),
    );
  });

  it("depends on the sizes and not on the steps that led to them", () => {
    const [straight, around] = [twoRoutes(5), twoRoutes(5)];
    straight.set(1, size(4, 1.4));
    around.set(1, size(8, 0.2));
    around.set(0, size(1, 1));
    around.set(1, size(4, 1.4));
    around.set(0, straight.sizeOf(0));
    expect(around.total()).toBeCloseTo(straight.total(), 9);
  });
});

describe("load points of the same load", () => {
  it("cost the same as one point with the weight of both, in trials too", () => {
    const split = [
      { factor: 1, weight: 0.5 },
      { factor: 1, weight: 0.25 },
      { factor: 0.8, weight: 0.25 },
    ];
    const joined = [
      { factor: 1, weight: 0.75 },
      { factor: 0.8, weight: 0.25 },
    ];
    const [one, other] = [split, joined].map((loads) => chain([service("a"), service("b")], { loads }));
    expect(one!.total()).toBeCloseTo(other!.total(), 12);
    expect(one!.trial(1, size(4))).toBeCloseTo(other!.trial(1, size(4)), 12);
    for (const cost of [one!, other!]) cost.set(0, size(3, 1.2));
    expect(one!.total()).toBeCloseTo(other!.total(), 12);
    expect(one!.tailOf(0, 1)).toBe(one!.tailOf(0, 0));
    expect(one!.trial(1, size(1))).toBeCloseTo(other!.trial(1, size(1)), 12);
  });
});

/** Four services on two routes at three loads, of which the routes' own predictions are uncertain. */
function twoRoutes(seed: number): ApplicationCost {
  const random = seededRng(seed);
  const services = ["a", "b", "c", "d"].map((name) =>
    service(name, { own: queueing(0.02 + 0.1 * random(), 0.005 + 0.02 * random()) }),
  );
  const names = services.map(({ name }) => name);
  const through = [
    ["a", "b", 1],
    ["b", "c", 2],
  ] as const;
  const routes = [
    route(names, through, { share: 0.7 }),
    route(names, [["a", "d", 1]], { share: 0.3, sigma: 0.2 }),
  ];
  const loads = loadPoints({ ratio: 1.2, sigma: 0.2, mostRatio: 2 });
  return new ApplicationCost(services, routes, options({ loads, changeRatio: 0.25 }));
}

describe("the loads that may come", () => {
  it("have the mean and variance of a normal logarithm of load", () => {
    const points = loadPoints({ ratio: 1.5, sigma: 0.2, mostRatio: Infinity });
    const mean = points.reduce((sum, { factor, weight }) => sum + weight * Math.log(factor), 0);
    const square = points.reduce((sum, { factor, weight }) => sum + weight * Math.log(factor) ** 2, 0);
    expect(points.reduce((sum, { weight }) => sum + weight, 0)).toBeCloseTo(1, 12);
    expect(mean).toBeCloseTo(Math.log(1.5), 9);
    expect(square - mean ** 2).toBeCloseTo(0.04, 9);
  });

  it("do not exceed the highest load that is reckoned with", () => {
    const points = loadPoints({ ratio: 1.5, sigma: 0.5, mostRatio: 1.6 });
    expect(Math.max(...points.map(({ factor }) => factor))).toBe(1.6);
  });
});
