import { describe, expect, it } from "vitest";
import { ticks } from "@tradewind/simulator/backtest/report/svg.ts";
import { overRatio } from "@tradewind/simulator/backtest/route-model.ts";
import { ReplayedDeployment } from "@tradewind/simulator/backtest/replayed-deployment.ts";
import { RouteTally } from "@tradewind/simulator/backtest/route-tally.ts";
import { APPLICATION, recording } from "./recording.ts";

describe("overRatio", () => {
  it("is 5 % where the p95 is the objective, whatever the spread", () => {
    for (const spread of [0.1, 0.5, 1]) expect(overRatio(0.2, 0.2, spread)).toBeCloseTo(0.05, 12);
  });

  it("follows the log-normal: median at e^(-1.645 · spread) of the p95", () => {
    expect(overRatio(0.2, 0.2 * Math.exp(-1.6448536269514722 * 0.5), 0.5)).toBeCloseTo(0.5, 12);
    expect(overRatio(0.1, 0.2, 0.5)).toBeCloseTo(0.00118, 4);
  });
});

describe("RouteTally", () => {
  it("counts requests by share and misses a minute with more than the allowed share", () => {
    const tally = new RouteTally({ route: "r", objectiveSeconds: 0.2, percentile: 0.95, requestSpread: 0.5 });
    tally.add(0, 30, 10, 0.1);
    tally.add(30_000, 30, 10, 0.1);
    tally.add(60_000, 60, 10, 0.4);
    const account = tally.account();
    expect(account.requests).toBeCloseTo(1_200, 9);
    expect(account.over).toBeCloseTo(600 * overRatio(0.1, 0.2, 0.5) + 600 * overRatio(0.4, 0.2, 0.5), 9);
    expect(tally.minutesMissed()).toEqual([60_000]);
    expect(account.latency.quantileSeconds(0.25)).toBeGreaterThan(0.02);
  });
});

describe("ReplayedDeployment", () => {
  const windows = recording(3, 2).flatMap((set) => set.windows.filter(({ service }) => service === "front"));

  it("begins with what ran, and charges pods from when they are created", () => {
    const deployment = new ReplayedDeployment("front", windows, APPLICATION, 0, 30_000);
    expect(deployment.ready(0)).toBe(2);
    deployment.setReplicas(3, 10_000);
    expect([deployment.ready(39_999), deployment.ready(40_000)]).toEqual([2, 3]);
    expect(deployment.held(20_000)).toMatchObject({ requestCoreSeconds: 50, starts: 1, stops: 0 });
    deployment.setReplicas(1, 20_000);
    expect(deployment.held(30_000)).toMatchObject({ requestCoreSeconds: 60, starts: 1, stops: 2 });
  });

  it("moves sizes of running pods", () => {
    const deployment = new ReplayedDeployment("front", windows, APPLICATION, 0, 30_000);
    deployment.resize({ cpuCores: 0.5 }, 10_000);
    expect(deployment.held(20_000).requestCoreSeconds).toBeCloseTo(30, 9);
    expect(deployment.views(20_000)[0]).toMatchObject({ cpuRequestCores: 0.5, memoryRequestBytes: 256e6 });
  });
});

describe("ticks", () => {
  it("are round values a step of 1, 2 or 5 apart", () => {
    expect(ticks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
    expect(ticks(0.3, 1, 5).map((value) => Number(value.toFixed(6)))).toEqual([0.4, 0.6, 0.8, 1]);
    expect(ticks(5, 5, 5)).toEqual([5]);
  });
});
