import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { excessOf, routesAfter, UNSEEN_ERROR } from "@tradewind/predictor/decide/cost/learn/learn-routes.ts";
import type { CostWindow } from "@tradewind/predictor/decide/cost/learn/cost-window.ts";
import type { RouteMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { describe, expect, it } from "vitest";
import { application, window, windowSet } from "../measurements.ts";
import { flowOf, costWindowOf } from "./given.ts";

/** A route of one service with an own p95 of 60 ms, of which the route's is this many times as long. */
function measured(ratio: number, overrides: object = {}): WindowSet {
  return windowSet(
    [window({ service: "frontend", replicas: 2, rate: 20, ownSeconds: 0.02 })],
    [flowOf([], 0.06 * ratio, { services: ["frontend"], calls: [], ...overrides })],
  );
}

function after(sets: readonly WindowSet[], overrides: Partial<CostWindow> = {}): RouteMemory {
  let routes: readonly RouteMemory[] = [];
  for (const set of sets) routes = routesAfter({ routes: [...routes] }, costWindowOf(set, overrides));
  const [only] = routes;
  if (only === undefined) throw new Error("nothing is known of the route");
  return only;
}

const times = (count: number, set: WindowSet): WindowSet[] => Array.from({ length: count }, () => set);

describe("what lies outside the services of a route", () => {
  it("is what it takes longer than its services, in seconds", () => {
    const { excessSeconds, factor } = excessOf(after(times(10, measured(1.5))));
    expect(excessSeconds).toBeCloseTo(0.03, 6);
    expect(factor).toBe(1);
  });

  it("is a factor where the route takes less than its services together", () => {
    const { excessSeconds, factor } = excessOf(after(times(10, measured(0.8))));
    expect(excessSeconds).toBe(0);
    expect(factor).toBeCloseTo(0.8, 6);
  });

  it("is nothing before a window has shown it", () => {
    expect(excessOf(undefined)).toEqual({ excessSeconds: 0, factor: 1 });
  });

  it("does not move for 20 minutes of a slow database after an hour without", () => {
    const calm = times(240, measured(1.5));
    const slow = times(80, measured(10));
    expect(excessOf(after([...calm, ...slow])).excessSeconds).toBeCloseTo(0.03, 6);
    expect(excessOf(after([...calm, ...times(160, measured(10))])).excessSeconds).toBeGreaterThan(0.03);
  });

  it("is kept of 64 windows at most", () => {
    const { excessRatios, excessSeconds, windows } = after(times(400, measured(1.5)));
    expect([excessSeconds.length, excessRatios.length, windows]).toEqual([64, 64, 400]);
  });

  it("is not learnt from tails whose ratio would leave the range of numbers", () => {
    for (const seconds of [Number.MIN_VALUE, 1e-12, 1e12, Number.MAX_VALUE]) {
      const latency = { ...measured(1).flows[0]!.latency, p95Seconds: seconds };
      expect(after([measured(1, { latency })]).windows).toBe(0);
    }
  });

  it("is not learnt from fewer than 20 calls, nor while pods start on the way", () => {
    const latency = { ...measured(1.5).flows[0]!.latency, count: 19 };
    expect(after([measured(1.5, { latency })]).windows).toBe(0);
    const settling = costWindowOf(measured(1.5)).observations.map((each) =>
      Object.assign({}, each, { settling: true }),
    );
    expect(after([measured(1.5)], { observations: settling }).windows).toBe(0);
  });

  it("is measured at the percentile of the objective, in the services as in the route", () => {
    // Both p99 are 1.5 times: 92 ms own, and a route that takes exactly as long has no excess.
    const own = measured(1).windows[0]!.ownLatency!.p99Seconds;
    const latency = { ...measured(1).flows[0]!.latency, p99Seconds: own };
    const strict = application({ objective: { milliseconds: 300, percentile: 0.99 } });
    const { excessSeconds } = excessOf(after(times(10, measured(1, { latency })), { application: strict }));
    expect(excessSeconds).toBeCloseTo(0, 3);
  });

  it("is remembered of a route that nobody calls now", () => {
    const before = after(times(3, measured(1.5)));
    const other = costWindowOf(measured(1, { flow: "GET /other" }));
    const routes = routesAfter({ routes: [before] }, other);
    expect(routes.find(({ route }) => route === before.route)).toEqual(before);
    expect(routes.map(({ route }) => route).toSorted()).toEqual(["GET /", "GET /other"]);
  });
});

describe("how far a route's prediction is off", () => {
  it("counts as 30 % until windows have shown otherwise, and shrinks with steady ones", () => {
    const known = after(times(60, measured(1.5)));
    expect(after([measured(1.5, { latency: { ...measured(1).flows[0]!.latency, count: 3 } })]).square).toBe(
      UNSEEN_ERROR ** 2,
    );
    expect(Math.sqrt(known.square)).toBeLessThan(0.05);
  });

  it("grows while the route is slower than its services and what is always there say", () => {
    const steady = times(60, measured(1.5));
    expect(after([...steady, ...times(5, measured(4))]).square).toBeGreaterThan(0.1);
  });

  it("spreads the route's requests as their p95 over their p50 says: ln 4 / 1.645", () => {
    expect(after(times(3, measured(1.5))).spread).toBeCloseTo(Math.log(4) / 1.644_853_6, 6);
  });
});

describe("the requests that a route makes of its services", () => {
  const shop = (overrides: object = {}): WindowSet =>
    windowSet(
      [
        window({ service: "frontend", replicas: 2, rate: 20, ownSeconds: 0.02 }),
        window({ service: "backend", replicas: 2, rate: 60, ownSeconds: 0.02 }),
      ],
      [flowOf([["frontend", "backend", 3]], 0.1, overrides)],
    );

  it("are those of windows in which few of its own failed", () => {
    const failing = shop({ errorRatio: 0.9, calls: [], services: ["frontend"] });
    const { visits, windows } = after([shop(), ...times(20, failing)]);
    expect(visits).toEqual([
      { service: "backend", perRequest: 3 },
      { service: "frontend", perRequest: 1 },
    ]);
    expect(windows).toBe(1);
  });
});
