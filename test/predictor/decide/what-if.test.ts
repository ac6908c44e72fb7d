import { ApplicationCost } from "@tradewind/predictor/decide/cost/price/application-cost.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { windowSet } from "../measurements.ts";
import { flowOf } from "./given.ts";
import { chain, options, queueing, route, service } from "./priced.ts";
import { randomApplication } from "./random-cost.ts";

const only = (): WhatIf => new WhatIf(() => chain([service("only", { own: queueing(0.03, 0.02) })]));

describe("asking the models what would be", () => {
  it("gives the tail before and after one replica more: 30 ms / 0.4 at 60 % used, 30 ms / 0.6 at 40 %", () => {
    const expected = only().resized("only", { resource: "replicas", steps: 1 });
    expect(expected).toMatchObject({ from: 2, to: 3 });
    expect(expected!.tailBeforeSeconds).toBeCloseTo(0.075, 9);
    expect(expected!.tailAfterSeconds).toBeCloseTo(0.05, 9);
  });

  it("gives each service its share of the slowest route: of 30 ms and 90 ms in a row a share near 1 to 3", () => {
    const chained = new WhatIf(() =>
      chain([
        service("fast", { own: queueing(0.012, 0.02) }),
        service("slow", { own: queueing(0.036, 0.02) }),
      ]),
    );
    const shares = chained.tailShares();
    expect(shares.get("fast")! + shares.get("slow")!).toBeCloseTo(1, 12);
    expect(shares.get("slow")).toBeGreaterThan(0.7);
  });

  it("gives what each service adds to the route that was measured to be slow, whichever the models expect to be", () => {
    const names = ["slow", "fast"];
    const to = (name: string) => {
      const flow = flowOf([], 0.1, { flow: `GET /${name}`, entryService: name, services: [name] });
      return { ...route(names, []), graph: compileFlow(flow, windowSet([]), serviceIndex(names))! };
    };
    const services = [
      service("slow", { own: queueing(0.2, 0.02) }),
      service("fast", { own: queueing(0.01, 0.02) }),
    ];
    const two = new WhatIf(() => new ApplicationCost(services, names.map(to), options()));
    expect([...two.influences().keys()]).toEqual(["slow"]);
    expect([...two.influences("GET /fast").keys()]).toEqual(["fast"]);
    expect([...two.influences("GET /unknown").keys()]).toEqual(["slow"]);
  });

  it("gives what a call adds that became the longest of those beside it unseen by the models, and leaves these as they were", () => {
    const names = ["entry", "long", "short"];
    const beside = { caller: "entry", callsPerRequest: 1, parallelRatio: 1 };
    const flow = flowOf([], 0.1, {
      entryService: "entry",
      services: names,
      calls: [
        { ...beside, callee: "long" },
        { ...beside, callee: "short" },
      ],
    });
    const services = [
      service("entry", { own: queueing(0.001, 0.02) }),
      service("long", { own: queueing(0.04, 0.02) }),
      service("short", { own: queueing(0.002, 0.02), measured: { meanSeconds: 0.3, tailSeconds: 0.6 } }),
    ];
    const graph = compileFlow(flow, windowSet([]), serviceIndex(names))!;
    const cost = new ApplicationCost(services, [{ ...route(names, []), graph }], options());
    const models = new WhatIf(() => cost);
    const before = models.tailSeconds;
    expect(models.influences().get("short")).toBeGreaterThan(0.7);
    expect(models.influences().get("long") ?? 0).toBeLessThan(0.2);
    expect(models.tailSeconds).toBe(before);
    expect(models.tailShares().get("short")).toBeLessThan(0.2);
  });

  it("gives the tail if a service took another time of its own: as long as that itself where it is alone", () => {
    const expected = only().ownTime("only", 0.2, 0.06);
    expect(expected!.tailBeforeSeconds).toBeCloseTo(0.2, 9);
    expect(expected!.tailAfterSeconds).toBeCloseTo(0.06, 9);
  });

  it("knows nothing of a service without a model, of none at all, and of no replicas", () => {
    const chained = new WhatIf(() => chain([service("only", { own: queueing(0.03, 0.02) })]));
    expect(chained.resized("nobody", { resource: "cpu", steps: 1 })).toBeUndefined();
    expect(chained.ownTime("nobody", 1, 0.1)).toBeUndefined();
    expect(chained.resized("only", { resource: "replicas", steps: -2 })).toBeUndefined();
  });

  it("changes nothing by asking, and more never slows the slowest route", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), (seed) => {
        const { options, routes, services } = randomApplication(seed, 20);
        const models = new WhatIf(() => new ApplicationCost(services, routes, options));
        const before = models.tailSeconds;
        for (const { name } of services)
          for (const resource of ["cpu", "replicas"] as const) {
            const expected = models.resized(name, { resource, steps: 1 });
            // Of parallel calls the variance of the longest may fall with one of them: see Sensitivities.
            expect(expected?.tailAfterSeconds ?? before).toBeLessThanOrEqual(1.01 * before);
          }
        expect(models.tailSeconds).toBeCloseTo(before, 12);
      }),
      { numRuns: 30 },
    );
  });
});
