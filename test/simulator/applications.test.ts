import { describe, expect, it } from "vitest";
import { generated } from "../../simulator/applications/generated.ts";
import { hotelReservation } from "../../simulator/applications/hotel-reservation.ts";
import { onlineBoutique } from "../../simulator/applications/online-boutique.ts";
import { socialNetwork } from "../../simulator/applications/social-network.ts";
import { sockShop } from "../../simulator/applications/sock-shop.ts";
import { trainTicket } from "../../simulator/applications/train-ticket.ts";
import type { ApplicationModel } from "../../simulator/model/application-model.ts";
import { demandPerRequest, replicasFor } from "../../simulator/model/demand.ts";
import { lognormal } from "../../simulator/model/distribution.ts";
import { at, worldOf } from "./plant-rig.ts";

const RATE = 30;

const named: readonly (readonly [
  name: string,
  make: (replicas?: Record<string, number>) => ApplicationModel,
  services: number,
])[] = [
  ["hotel reservation", hotelReservation, 8],
  ["social network", socialNetwork, 12],
  ["sock shop", sockShop, 8],
  ["online boutique", onlineBoutique, 10],
  ["train ticket", trainTicket, 40],
];

describe("applications", () => {
  it.each(named)("%s: every service is reached, and routes are all requests", (_, make, services) => {
    const model = make();
    const demands = [...demandPerRequest(model)];
    expect(demands).toHaveLength(services);
    expect(demands.filter(([, { visits }]) => !(visits > 0))).toEqual([]);
    expect(model.routes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
  });

  it.each(named)("%s: meets its objectives calmly and shows every route as a flow", (_, make) => {
    const model = make(replicasFor(make(), RATE, 0.5));
    const world = worldOf(model, {
      objective: { milliseconds: 150 },
      model: {
        load: () => RATE,
        seconds: 120,
        cluster: { nodes: 8, nodeCores: 16, nodeMemoryBytes: 64e9, podStartMs: lognormal(30_000, 0.2) },
      },
    });
    world.advanceTo(at(130));
    const { minutesOver, oomKills, routes } = world.account();
    const slow = routes.filter(
      ({ failed, latency, objectiveSeconds }) =>
        failed > 0 || latency.quantileSeconds(0.95) > objectiveSeconds,
    );
    expect(slow.map(({ route }) => route)).toEqual([]);
    expect([minutesOver, oomKills]).toEqual([0, 0]);
    const flows = new Set<string>();
    for (let start = 0; start < 120; start += 15) {
      for (const { flow } of world.windowSet(at(start), at(start + 15)).flows) flows.add(flow);
    }
    expect([...flows].filter((flow) => !model.routes.some(({ name }) => name === flow))).toEqual([]);
    expect(flows.size).toBeGreaterThan(0.8 * model.routes.length);
  });
});

describe("generated applications", () => {
  it.each([
    [12, 1],
    [100, 2],
    [2_500, 16],
  ])("of %d services have the published shape", (count, callersOfTheHottest) => {
    const model = generated({ services: count, seed: 4 });
    expect(model.services).toHaveLength(count);
    expect([...demandPerRequest(model)].filter(([, { visits }]) => !(visits > 0))).toEqual([]);
    const calls = model.services.map(({ operations }) =>
      Object.values(operations).flatMap((steps) =>
        steps.flatMap((step) => (step.kind === "call" ? step.calls : [])),
      ),
    );
    const leaves = calls.filter((each) => each.length === 0).length;
    expect(leaves / count).toBeGreaterThan(0.3);
    expect(leaves / count).toBeLessThan(0.6);
    const callers = new Map<string, Set<number>>();
    for (const [caller, each] of calls.entries()) {
      for (const { service } of each) callers.set(service, (callers.get(service) ?? new Set()).add(caller));
    }
    const shared = [...callers.values()].map(({ size }) => size).sort((a, b) => b - a);
    expect(shared.filter((size) => size === 1).length / count).toBeGreaterThan(0.5);
    expect(shared[0]).toBeGreaterThanOrEqual(callersOfTheHottest);
  });

  it("are the same for the same seed and another one for another", () => {
    const of = (seed: number): string => JSON.stringify(generated({ services: 60, seed }));
    expect(of(1)).toBe(of(1));
    expect(of(1)).not.toBe(of(2));
  });

  it("run with 2,500 services", () => {
    const model = generated({ services: 2_500, seed: 4 });
    const world = worldOf(model, {
      objective: { milliseconds: 1_000 },
      model: {
        load: () => 20,
        seconds: 30,
        telemetry: { sampledRatio: 0.5, spanDelaySeconds: 1 },
        cluster: { nodes: 200, nodeCores: 16, nodeMemoryBytes: 64e9, podStartMs: lognormal(30_000, 0.2) },
      },
      seed: 2,
    });
    world.advanceTo(at(25));
    expect(world.windowSet(at(0), at(15)).windows).toHaveLength(2_500);
    expect(world.account().routes.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);
  });
});
