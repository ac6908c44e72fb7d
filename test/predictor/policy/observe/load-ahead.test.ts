import { describe, expect, it } from "vitest";
import { loadAhead } from "@tradewind/predictor/policy/observe/load-ahead.ts";
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
  return loadAhead(observe(inputs(set)), 3);
}

describe("the load that is on its way", () => {
  it("is what was served where nothing waits", () => {
    expect(ahead([service("frontend", 50), service("backend", 50)], 0).size).toBe(0);
  });

  it("goes on rising where it has risen, within what is believed", () => {
    const observations = observe(inputs(chained([service("frontend", 50)])));
    expect(loadAhead(observations, 3, 1.5).get("frontend")).toBeCloseTo(75, 9);
    expect(loadAhead(observations, 1.2, 1.5).get("frontend")).toBeCloseTo(60, 9);
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
    expect(loadAhead([swamped], 3).get("frontend")).toBe(300);
  });

  it("ends in a circle of calls", () => {
    const set = chained([service("frontend", 100), service("backend", 100)]);
    set.windows[0]!.containers[0]!.cpuThrottledRatio = 0.5;
    set.windows[0]!.callees = [{ callee: "backend", callsPerSecond: 100, parallelRatio: 0 }];
    set.windows[1]!.callees = [{ callee: "frontend", callsPerSecond: 100, parallelRatio: 0 }];
    for (const load of loadAhead(observe(inputs(set)), 3).values()) expect(load).toBeLessThanOrEqual(300);
  });
});
