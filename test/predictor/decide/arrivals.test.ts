import { arrivalsPerSecond } from "@tradewind/predictor/decide/cost/learn/cost-window.ts";
import { arrivals, hiddenLoad, loadNow } from "@tradewind/predictor/decide/cost/prepare/arrivals.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { emptyMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import type { RouteMemory, ServiceModelMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { demandOf, emptyProfile } from "@tradewind/predictor/models/queue/tracked-profile.ts";
import type { Observation } from "@tradewind/predictor/decide/facts/observation.ts";
import { describe, expect, it } from "vitest";
import { window, windowSet } from "../measurements.ts";
import type { ServiceFacts } from "../measurements.ts";
import { costWindowOf, flowOf, seen } from "./given.ts";

const NO_MEMORY = { routes: [], services: [] };
const SERVICES = [
  { service: "frontend", replicas: 1, rate: 20, ownSeconds: 0.01 },
  { service: "backend", replicas: 1, rate: 40, ownSeconds: 0.01 },
  { service: "store", replicas: 1, rate: 20, ownSeconds: 0.01 },
  { service: "batch", replicas: 1, rate: 3, ownSeconds: 0.01 },
];
const SHOP = windowSet(
  SERVICES.map((each) => window(each)),
  [
    flowOf([
      ["frontend", "backend", 2],
      ["backend", "store", 0.5],
    ]),
  ],
);

describe("what arrives at each service", () => {
  it("is what it answered where as many requests began as ended", () => {
    expect(arrivalsPerSecond(costWindowOf(SHOP))).toBe(20);
    const { perSecond } = arrivals(costWindowOf(SHOP), NO_MEMORY);
    expect(Object.fromEntries(perSecond)).toEqual({ frontend: 20, backend: 40, store: 20, batch: 3 });
  });

  it("grows by the calls that each request makes of it while a queue builds up at the entry", () => {
    const queueing = costWindowOf(SHOP, { arrivalRatio: 1.5 });
    expect(arrivalsPerSecond(queueing)).toBe(30);
    expect(Object.fromEntries(arrivals(queueing, NO_MEMORY).perSecond)).toEqual({
      frontend: 30,
      backend: 60,
      store: 30,
      batch: 3,
    });
  });

  it("is less than what it answered while a queue is worked off, and never negative", () => {
    const draining = { arrivalRatio: 0.75 };
    const { perSecond } = arrivals(costWindowOf(SHOP, draining), NO_MEMORY);
    expect(Object.fromEntries(perSecond)).toMatchObject({ frontend: 15, backend: 30 });
    const idle = windowSet([window({ service: "frontend", replicas: 1, rate: 1 })], SHOP.flows);
    expect(arrivals(costWindowOf(idle, draining), NO_MEMORY).perSecond.get("frontend")).toBe(0);
  });
});

describe("what arrives where requests fail before they reach the services behind", () => {
  const failing = windowSet(
    [
      window({ service: "frontend", replicas: 1, rate: 300, ownSeconds: 0.01 }),
      window({ service: "backend", replicas: 1, rate: 0 }),
    ],
    [flowOf([], 0.01, { services: ["frontend"], calls: [], requestsPerSecond: 300, errorRatio: 0.98 })],
  );
  const route: RouteMemory = {
    route: "GET /",
    excessSeconds: [],
    excessRatios: [],
    windows: 1,
    spread: 0.5,
    square: 0.1,
    visits: [
      { service: "frontend", perRequest: 1 },
      { service: "backend", perRequest: 2 },
    ],
  };

  it("is what they would have asked of them, had they gone on", () => {
    const { lostPerSecond, perSecond } = arrivals(costWindowOf(failing), { ...NO_MEMORY, routes: [route] });
    expect(Object.fromEntries(perSecond)).toEqual({ frontend: 300, backend: 600 });
    expect(lostPerSecond.get("backend")).toBe(600);
  });

  it("is what was measured while few fail", () => {
    const fine = { ...failing, flows: failing.flows.map((each) => ({ ...each, errorRatio: 0.01 })) };
    const { lostPerSecond, perSecond } = arrivals(costWindowOf(fine), { ...NO_MEMORY, routes: [route] });
    expect(perSecond.get("backend")).toBe(0);
    expect(lostPerSecond.size).toBe(0);
  });
});

describe("the load that is planned for while a service is full", () => {
  const full = (service: string): WindowSet => {
    const windows = SERVICES.map((each) =>
      window(each.service === service ? { ...each, podUsageCores: 1, throttled: 0.8 } : each),
    );
    const containers = (made: Window): Window["containers"] =>
      made.containers.map((each) => Object.assign({}, each, { cpuLimitCores: 1 }));
    return windowSet(
      windows.map((made) => ({ ...made, containers: containers(made) })),
      SHOP.flows,
    );
  };
  const plannedRatio = (service: string, arrivalRatio: number | undefined): number =>
    loadNow(costWindowOf(full(service), { arrivalRatio }), emptyMemory(75)).outlook.ratio;

  it("is what was counted at the entry, however full a service behind it is", () => {
    expect(plannedRatio("backend", 1)).toBe(1);
  });

  it("is as much more as throttling may hide where arrivals were not counted", () => {
    expect(plannedRatio("backend", undefined)).toBeCloseTo(1.8, 9);
  });

  it("is as much more where the entry itself is full: what it turns away is counted nowhere", () => {
    expect(plannedRatio("frontend", 1)).toBeCloseTo(1.8, 9);
  });
});

describe("the load that a full service hides", () => {
  const busy = (facts: Partial<ServiceFacts>, cores = 1): Observation => {
    const made = window({ service: "backend", replicas: 2, rate: 20, ownSeconds: 0.1, ...facts });
    const containers = made.containers.map((each) => Object.assign({}, each, { cpuLimitCores: cores }));
    return seen(windowSet([{ ...made, containers }])).observations[0]!;
  };

  it("is up to as much again, by the share of periods in which it was throttled", () => {
    expect(hiddenLoad(busy({ podUsageCores: 1, throttled: 0.8 }), undefined)).toBeCloseTo(1.8, 9);
  });

  it("is none for a service with CPU left, though it was throttled", () => {
    expect(hiddenLoad(busy({ podUsageCores: 0.85, throttled: 0.8 }), undefined)).toBe(1);
  });

  it("is none where no CPU use was measured", () => {
    expect(hiddenLoad(busy({}), undefined)).toBe(1);
  });

  it("is as much again for a program of one thread that fills its core of four", () => {
    const profile = { ...emptyProfile(), weights: [0.998, 0.0005, 0.0005, 0.0005, 0.0005], cpuWindows: 3 };
    const model: ServiceModelMemory = { service: "backend", profile, windows: 3 };
    const one = busy({ podUsageCores: 1, throttled: 0 }, 4);
    expect(hiddenLoad(one, undefined)).toBe(1);
    expect(hiddenLoad(one, model)).toBe(2);
  });

  it("is less by what the requests counted ask for beyond what was done", () => {
    const profile = { ...emptyProfile(), cpuWindows: 3 };
    const model: ServiceModelMemory = { service: "backend", profile, windows: 3 };
    const one = busy({ podUsageCores: 1, throttled: 1 });
    const perRequest = demandOf(profile)!.cpuSecondsPerRequest;
    const hidden = (timesServed: number): number => hiddenLoad(one, model, (timesServed * 2) / perRequest);
    expect(hidden(1)).toBeCloseTo(2, 9);
    expect(hidden(1.6)).toBeCloseTo(1.25, 9);
    expect(hidden(5)).toBe(1);
  });
});
