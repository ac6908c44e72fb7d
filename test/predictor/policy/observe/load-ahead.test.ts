import { describe, expect, it } from "vitest";
import { countedArrivalRatio, loadAhead } from "@tradewind/predictor/policy/observe/load-ahead.ts";
import { observe } from "@tradewind/predictor/policy/observe/observation.ts";
import { inputs } from "../../measurements.ts";
import { chained } from "../planner/planned.ts";
import type { ModelledService } from "../planner/planned.ts";

const service = (name: string, requestsPerSecond: number): ModelledService => ({
  service: name,
  replicas: 1,
  cores: 1,
  cpuSecondsPerRequest: 0.01,
  baseSeconds: 0.01,
  requestsPerSecond,
});

function ahead(services: readonly ModelledService[], throttled: number, shares: readonly number[] = []) {
  const set = chained(services);
  set.windows[0]!.containers[0]!.cpuThrottledRatio = throttled;
  for (const [at, { service: caller, requestsPerSecond = 0 }] of set.windows.entries()) {
    const callee = set.windows[at + 1];
    if (callee === undefined) continue;
    const callsPerSecond = (shares[at] ?? 1) * Math.min(requestsPerSecond, callee.requestsPerSecond ?? 0);
    set.windows.find((window) => window.service === caller)!.callees = [
      { callee: callee.service, callsPerSecond, parallelRatio: 0 },
    ];
  }
  return loadAhead(observe(inputs(set)), { mostGrowth: 3 });
}

describe("the load that is on its way", () => {
  it("is what was served where nothing waits", () => {
    expect(ahead([service("frontend", 50), service("backend", 50)], 0).size).toBe(0);
  });

  it("goes on rising where it has risen, within what is believed", () => {
    const observations = observe(inputs(chained([service("frontend", 50)])));
    expect(loadAhead(observations, { mostGrowth: 3, rise: 1.5 }).get("frontend")).toBeCloseTo(75, 9);
    expect(loadAhead(observations, { mostGrowth: 1.2, rise: 1.5 }).get("frontend")).toBeCloseTo(60, 9);
  });

  it("is what throttling hides, and reaches the services that will be called for it", () => {
    // The frontend uses its whole core and is throttled half of the time: 1.5 times as much may be waiting.
    const loads = ahead([service("frontend", 100), service("backend", 100)], 0.5);
    expect(loads.get("frontend")).toBeCloseTo(150, 0);
    expect(loads.get("backend")).toBeCloseTo(150, 0);
  });

  it("reaches a callee in proportion to its share of calls", () => {
    const loads = ahead([service("frontend", 100), service("backend", 100)], 0.5, [0.4]);
    expect(loads.get("backend")).toBeCloseTo(120, 0);
  });

  it("is believed up to a limit", () => {
    const set = chained([service("frontend", 100)]);
    const [observation] = observe(inputs(set));
    const swamped = { ...observation!, demand: { ...observation!.demand!, cores: 50 } };
    expect(loadAhead([swamped], { mostGrowth: 3 }).get("frontend")).toBe(300);
  });

  it("is what was counted where arrivals were, whatever throttling seems to hide", () => {
    const set = chained([service("frontend", 100), service("backend", 100)]);
    set.windows[0]!.containers[0]!.cpuThrottledRatio = 0.5;
    set.windows[0]!.callees = [{ callee: "backend", callsPerSecond: 100, parallelRatio: 0 }];
    const observations = observe(inputs(set));
    const loads = loadAhead(observations, { mostGrowth: 3, counted: { service: "frontend", ratio: 1.2 } });
    expect(loads.get("frontend")).toBeCloseTo(120, 9);
    expect(loads.get("backend")).toBeCloseTo(120, 9);
  });

  it("does not go on with answers to what waited before", () => {
    const observations = observe(inputs(chained([service("frontend", 50), service("backend", 50)])));
    const counted = { service: "frontend", ratio: 0.8 };
    const rising = loadAhead(observations, { mostGrowth: 3, rise: 1.5, counted });
    expect(rising.get("frontend")).toBeCloseTo(60, 9);
    expect(rising.get("backend")).toBeCloseTo(60, 9);
    expect(loadAhead(observations, { mostGrowth: 3, rise: 1.2, counted }).size).toBe(0);
  });

  it("ends in a circle of calls", () => {
    const set = chained([service("frontend", 100), service("backend", 100)]);
    set.windows[0]!.containers[0]!.cpuThrottledRatio = 0.5;
    set.windows[0]!.callees = [{ callee: "backend", callsPerSecond: 100, parallelRatio: 0 }];
    set.windows[1]!.callees = [{ callee: "frontend", callsPerSecond: 100, parallelRatio: 0 }];
    for (const load of loadAhead(observe(inputs(set)), { mostGrowth: 3 }).values())
      expect(load).toBeLessThanOrEqual(300);
  });
});

describe("arrivals that were counted", () => {
  const ratio = (beganPerSecond: number | undefined, answered = 50): number | undefined => {
    const set = chained([service("frontend", 50)]);
    if (beganPerSecond !== undefined) set.windows[0]!.beganPerSecond = beganPerSecond;
    return countedArrivalRatio(observe(inputs(set))[0], answered);
  };

  it("are taken over what was answered", () => {
    expect(ratio(60)).toBeCloseTo(1.2, 12);
    expect(ratio(40)).toBeCloseTo(0.8, 12);
  });

  it("are not known where nobody counted, hardly any was known in time, or nothing was answered", () => {
    expect([ratio(undefined), ratio(30), ratio(60, 0)]).toEqual([undefined, undefined, undefined]);
    expect(countedArrivalRatio(undefined, 50)).toBeUndefined();
  });
});
