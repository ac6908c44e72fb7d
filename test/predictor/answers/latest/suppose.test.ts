import type { PolicyInputs, PolicyOutcome } from "@tradewind/predictor/decide/inputs.ts";
import { ApplicationCost } from "@tradewind/predictor/decide/cost/price/application-cost.ts";
import { atLoad } from "@tradewind/predictor/decide/cost/price/cost-inputs.ts";
import { cheapest } from "@tradewind/predictor/decide/cost/solve/cheapest.ts";
import { suppose } from "@tradewind/predictor/decide/cost/price/suppose.ts";
import { WhatIf } from "@tradewind/predictor/decide/cost/price/what-if.ts";
import { decide } from "@tradewind/predictor/decide/ladder.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chain, options, queueing, service } from "../../decide/priced.ts";
import { randomApplication } from "../../decide/random-cost.ts";
import { inputs, START_MS, WINDOW_MS } from "../../measurements.ts";
import { chained } from "../../decide/modelled.ts";

/** One service of 2 replicas with 60 requests/s, self time 30 ms without load, 20 ms of CPU each. */
const only = (sigma = 0): WhatIf =>
  new WhatIf((loadRatio = 1) =>
    chain([service("only", { own: queueing(0.03, 0.02, sigma) })], atLoad(options(), loadRatio)),
  );

describe("what would be at other sizes", () => {
  it("gives 30 ms / 0.4 at 60 % used now, and 30 ms / 0.6 with a third replica, which costs one more core", () => {
    const { costPerHour, routes, services } = suppose(only(), {
      load: 1,
      services: [{ service: "only", replicas: 3 }],
    });
    expect(routes[0]!.now.latencySeconds).toBeCloseTo(0.075, 9);
    expect(routes[0]!.then.latencySeconds).toBeCloseTo(0.05, 9);
    expect(costPerHour).toEqual({ now: 2, then: 3 });
    expect(services[0]).toMatchObject({ isModelled: true, now: { replicas: 2 }, then: { replicas: 3 } });
  });

  it("gives 30 ms / 0.7 at half the load, at the same cost", () => {
    const { costPerHour, load, routes, services } = suppose(only(), { load: 0.5, services: [] });
    expect(routes[0]!.then.latencySeconds).toBeCloseTo(0.03 / 0.7, 9);
    expect(load).toEqual({ now: 1, then: 0.5 });
    expect(costPerHour).toEqual({ now: 2, then: 2 });
    expect(services[0]!.then.requestsPerSecond).toBe(30);
  });

  it("gives an interval of 90 %: 1.6449 standard deviations of the logarithm to each side", () => {
    const [route] = suppose(only(0.2), { load: 1, services: [] }).routes;
    const { highSeconds, latencySeconds, lowSeconds } = route!.now;
    expect(Math.log(highSeconds / latencySeconds)).toBeCloseTo(1.644853626951 * 0.2, 6);
    expect(Math.log(latencySeconds / lowSeconds)).toBeCloseTo(1.644853626951 * 0.2, 6);
  });

  it("prices memory and leaves the latency: the models know no effect of it", () => {
    const priced = new WhatIf(() =>
      chain([service("only", { own: queueing(0.03, 0.02) })], {
        prices: { cpuCoreHour: 1, memoryGigabyteHour: 0.5 },
      }),
    );
    const { costPerHour, routes } = suppose(priced, {
      load: 1,
      services: [{ service: "only", memoryBytes: 1e9 }],
    });
    expect(costPerHour).toEqual({ now: 2, then: 3 });
    expect(routes[0]!.then).toEqual(routes[0]!.now);
  });

  it("refuses a service that is on no route by its name", () => {
    const ask = (): unknown => suppose(only(), { load: 1, services: [{ service: "nobody", replicas: 1 }] });
    expect(ask).toThrow("'nobody' is on no user's route");
  });
});

describe("what would be at the sizes that the planner chose", () => {
  it("is what the planner's own search came to, to the last bit, and asking changes nothing", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e6 }), (seed) => {
        const { options: given, roomy, routes, services } = randomApplication(seed, 15);
        const make = (loadRatio = 1): ApplicationCost =>
          new ApplicationCost(services, routes, loadRatio === 1 ? given : atLoad(given, loadRatio));
        const chosen = cheapest(make, roomy, {}, 500);
        const sizes = services.map(({ name }, at) => ({ service: name, ...chosen.sizeOf(at) }));
        const models = new WhatIf(make);
        const found = suppose(models, { load: 1, services: sizes });
        expect(suppose(models, { load: 1, services: sizes })).toEqual(found);
        expect(found.costPerHour.then).toBe(chosen.bill());
        expect(found.overRatio.then).toBe(chosen.expectedOver());
        const latencies = routes.map((_, route) => chosen.tailOf(route)).sort((a, b) => b - a);
        expect(found.routes.map(({ then }) => then.latencySeconds)).toEqual(latencies);
      }),
      { numRuns: 40 },
    );
  });

  it("is the latency that each recommendation of the plan predicts, to the last bit", () => {
    const { plan, whatIf } = lastOf(12);
    const found = suppose(whatIf!, {
      load: 1,
      services: plan.wishes.map(({ allocation, service: name }) => ({ service: name, ...allocation })),
    });
    expect(plan.policy).toBe("planner-prior");
    for (const { latencyAfterSeconds } of plan.wishes)
      expect(latencyAfterSeconds).toBe(found.routes[0]!.then.latencySeconds);
  });
});

/** The last of so many decisions about a shop in steady load. */
function lastOf(count: number): PolicyOutcome {
  const shop = [
    { service: "frontend", replicas: 1, cores: 1, cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 },
    { service: "backend", replicas: 8, cores: 1, cpuSecondsPerRequest: 0.02, baseSeconds: 0.03 },
  ].map((each) => ({ ...each, requestsPerSecond: 40 }));
  let outcome: PolicyOutcome | undefined;
  let state: PolicyInputs["state"] | undefined;
  for (let at = 0; at < count; at += 1) {
    outcome = decide(inputs(chained(shop, START_MS + at * WINDOW_MS), { ...(state && { state }) }));
    ({ state } = outcome);
  }
  return outcome!;
}
