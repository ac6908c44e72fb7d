import type { ServiceSensitivity } from "@tradewind/core/contract/sensitivities.ts";
import { ServiceSensitivity as Schema } from "@tradewind/core/contract/sensitivities.ts";
import { ApplicationCost } from "@tradewind/predictor/decide/cost/price/application-cost.ts";
import { Sensitivities } from "@tradewind/predictor/decide/cost/price/sensitivities.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chain, options, queueing, route, service, size } from "./priced.ts";
import { randomApplication } from "./random-cost.ts";

const PRICES = { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 };
const of = (cost: ApplicationCost): ServiceSensitivity[] => [...new Sensitivities(cost, PRICES).services()];

function randomCost(seed: number): ApplicationCost {
  const { options: given, routes, services } = randomApplication(seed, 40);
  return new ApplicationCost(services, routes, given);
}
const seeds = fc.integer({ min: 0, max: 1e6 });

describe("what one more unit is worth", () => {
  it("is for one core its share of each of two containers, and for one replica the exact difference", () => {
    // 30 ms at no load, 20 ms of CPU, 60 requests/s to two containers of 1 core: 60 % used, 30 ms / 0.4 = 75 ms.
    const [only] = of(chain([service("only", { own: queueing(0.03, 0.02) })]));
    expect(only).toMatchObject({
      service: "only",
      replicas: 2,
      cpuCores: 1,
    });
    expect(only!.latencySeconds).toBeCloseTo(0.075, 9);
    // d(30 ms / (1 − 0.6 / c)) / dc = −30 ms · 0.6 / 0.4² = −112.5 ms for one core in each container.
    expect(only!.perCore.seconds).toBeCloseTo(-0.1125 / 2, 9);
    // Three containers: 40 % used, 30 ms / 0.6 = 50 ms.
    expect(only!.perReplica.seconds).toBeCloseTo(-0.025, 9);
    expect(only!.perCore.costPerHour).toBe(0.03);
    expect(only!.perReplica.costPerHour).toBeCloseTo(0.03, 12);
  });

  it("is for a gibibyte no latency, with the reason, and its price: 1.0737 GB", () => {
    const [only] = of(chain([service("only")]));
    expect(only!.perGibibyte.seconds).toBe(0);
    expect(only!.perGibibyte.costPerHour).toBeCloseTo(1.073_741_824 * PRICES.memoryGigabyteHour, 12);
    expect(only!.perGibibyte.reason).toContain("memory");
  });

  it("has the slope that a small change of the CPU limit shows, on every route of random applications", () => {
    fc.assert(
      fc.property(seeds, fc.nat(), (seed, pick) => {
        const cost = randomCost(seed);
        const rows = of(cost);
        const row = rows[pick % rows.length]!;
        const at = cost.services.findIndex(({ name }) => name === row.service);
        const now = cost.sizeOf(at);
        const tailsAt = (added: number): number[] => {
          cost.set(at, { ...now, cpuCores: now.cpuCores + added / now.replicas });
          const tails = cost.routesThrough(at).map((each) => cost.tailOf(each));
          cost.set(at, now);
          return tails;
        };
        const h = 1e-6;
        const [less, here, more] = [tailsAt(-h), tailsAt(0), tailsAt(h)];
        for (const [place, each] of cost.routesThrough(at).entries()) {
          const found = row.routes.find(({ route: name }) => name === cost.routeOf(each).graph.flow)!;
          const changes = [here[place]! - less[place]!, more[place]! - here[place]!];
          const sides = changes.map((change) => Math.min(0, change / h));
          // At a kink (two calls in parallel of equal length) the slope is one of the two sides' or between them.
          const slack = 1e-3 * Math.abs(found.perCore.seconds) + 1e-7;
          expect(found.perCore.seconds).toBeGreaterThanOrEqual(Math.min(...sides) - slack);
          expect(found.perCore.seconds).toBeLessThanOrEqual(Math.max(...sides) + slack);
        }
      }),
      { numRuns: 60 },
    );
  });

  it("is for a replica what adding it changes, on every route and of the misses, and leaves the cost as it was", () => {
    fc.assert(
      fc.property(seeds, fc.nat(), (seed, pick) => {
        const cost = randomCost(seed);
        const total = cost.total();
        const rows = of(cost);
        expect(cost.total()).toBe(total);
        const row = rows[pick % rows.length]!;
        const at = cost.services.findIndex(({ name }) => name === row.service);
        const now = cost.sizeOf(at);
        const more = { ...now, replicas: now.replicas + 1 };
        const before = cost.routesThrough(at).map((each) => cost.tailOf(each));
        cost.set(at, more);
        for (const [place, each] of cost.routesThrough(at).entries()) {
          const found = row.routes.find(({ route: name }) => name === cost.routeOf(each).graph.flow)!;
          const change = Math.min(0, cost.tailOf(each) - before[place]!);
          expect(found.perReplica.seconds).toBeCloseTo(change, 12);
        }
      }),
      { numRuns: 40 },
    );
  });

  it("is never above 0, and its interval holds it", () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        for (const row of of(randomCost(seed))) {
          Schema.parse(row);
          const gains = [row, ...row.routes].flatMap(({ perCore, perReplica }) => [perCore, perReplica]);
          for (const { highSeconds, lowSeconds, seconds } of gains) {
            expect(lowSeconds).toBeLessThanOrEqual(seconds);
            expect(seconds).toBeLessThanOrEqual(highSeconds);
            expect(highSeconds).toBeLessThanOrEqual(0);
          }
        }
      }),
      { numRuns: 30 },
    );
  });

  it("prices what is missed less with one more core as the slope of the misses", () => {
    const cost = randomCost(7);
    const row = of(cost).find(({ perCore }) => perCore.missCostPerHour < -1e-9)!;
    const at = cost.services.findIndex(({ name }) => name === row.service);
    const now = cost.sizeOf(at);
    const misses = (added: number): number => {
      const next = { ...now, cpuCores: now.cpuCores + added / now.replicas };
      return cost.trial(at, next) - (cost.priceOf(at, next) - cost.priceOf(at, now));
    };
    expect(misses(1e-6) / 1e-6).toBeCloseTo(row.perCore.missCostPerHour, 4);
    expect(misses(now.replicas)).toBeGreaterThan(row.perCore.missCostPerHour * now.replicas ** 2);
  });

  it("leaves out services without a model and services on no route", () => {
    const { own: _, ...unknown } = service("unknown");
    const services = [service("a"), unknown, service("aside")];
    const names = services.map(({ name }) => name);
    const cost = new ApplicationCost(services, [route(names, [["a", "unknown", 1]])], options());
    expect(of(cost).map((row) => row.service)).toEqual(["a"]);
  });

  it("names the slowest of a service's routes, and lists all", () => {
    const services = ["a", "b", "c"].map((name) => service(name));
    const names = services.map(({ name }) => name);
    const long = route(names, [["a", "b", 2]], { excessSeconds: 0.5 });
    const short = route(names, [["a", "c", 1]]);
    const routes = [short, long].map((each, number) => ({
      ...each,
      graph: { ...each.graph, flow: `GET /${number}` },
    }));
    const [a, b] = of(new ApplicationCost(services, routes, options()));
    expect(a!.slowestRoute).toBe("GET /1");
    expect(a!.routes.map((each) => each.route)).toEqual(["GET /1", "GET /0"]);
    expect(a!.perReplica.seconds).toBe(a!.routes[0]!.perReplica.seconds);
    expect(b!.routes).toHaveLength(1);
  });

  it("is less sure on a route whose predictions are off, and with a self time that is less sure", () => {
    const widthOf = (sigma: number, routeSigma: number): number => {
      const own = queueing(0.03, 0.02, sigma);
      const [row] = of(chain([service("only", { own })], {}, { sigma: routeSigma }));
      return row!.perCore.highSeconds - row!.perCore.lowSeconds;
    };
    expect(widthOf(0, 0)).toBe(0);
    expect(widthOf(0, 0.2)).toBeCloseTo(2 * 1.644853626951 * 0.2 * 0.05625, 9);
    expect(widthOf(0.2, 0)).toBeGreaterThan(0);
    expect(widthOf(0.2, 0.2)).toBeGreaterThan(Math.max(widthOf(0.2, 0), widthOf(0, 0.2)));
  });

  it("asks of the profile the change to one replica more, and of 5 % more CPU", () => {
    const asked: unknown[] = [];
    const sure = service("only", {
      ownChange: (from, to) => {
        asked.push([from, to]);
        return { low: -0.5, high: -0.01 };
      },
    });
    const [row] = of(chain([sure]));
    expect(asked).toEqual([
      [
        { cpuCores: 1, loadPerContainer: 30 },
        { cpuCores: 1.05, loadPerContainer: 30 },
      ],
      [
        { cpuCores: 1, loadPerContainer: 30 },
        { cpuCores: 1, loadPerContainer: 20 },
      ],
    ]);
    expect(row!.perReplica.lowSeconds).toBeCloseTo(-0.5 * 0.075, 9);
    expect(row!.perReplica.highSeconds).toBeCloseTo(-0.01 * 0.075, 9);
    // Half of 75 ms for 5 % of a core in each of two containers.
    expect(row!.perCore.lowSeconds).toBeCloseTo((-0.5 * 0.075) / 0.05 / 2, 9);
  });

  it("forgets other sizes without a change of what it gives", () => {
    const cost = randomCost(11);
    cost.set(3, size(9, 1));
    const before = JSON.stringify(of(cost));
    cost.forgetOtherSizes();
    expect(JSON.stringify(of(cost))).toBe(before);
  });
});
