import { Application } from "@tradewind/core/contract/application.ts";
import { FlowWindow, Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { hourlyCost, judgedRequests } from "@tradewind/predictor/decide/facts/accounts.ts";
import { describe, expect, it } from "vitest";
import { wishOf } from "../../../exporter/wish.ts";

const START = { startMs: 1_800_000_000_000, endMs: 1_800_000_015_000 };
const application = Application.parse({
  entry: "frontend",
  objective: { milliseconds: 300 },
  prices: { cpuCoreHour: 0.03, memoryGigabyteHour: 0.004 },
});

const flow = (changes: Partial<FlowWindow>): FlowWindow =>
  FlowWindow.parse({
    flow: "GET /",
    entryService: "frontend",
    requestsPerSecond: 20,
    errorRatio: 0,
    latency: { count: 300, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds: 0.3, p99Seconds: 0.5 },
    services: ["frontend"],
    ...changes,
  });
const setOf = (flows: readonly FlowWindow[], windows: readonly Window[] = []): WindowSet =>
  WindowSet.parse({ ...START, flows, windows });

describe("a window's requests by the objective", () => {
  it("are counted where the source counts them, else read off the percentiles", () => {
    expect(judgedRequests(setOf([flow({ overObjectiveRatio: 0.25 })]), application)).toMatchObject({
      good: 225,
      bad: 75,
    });
    const { bad, good } = judgedRequests(setOf([flow({})]), application);
    expect(bad).toBeCloseTo(15, 9);
    expect(good).toBeCloseTo(285, 9);
  });

  it("are those of all flows that users start, and of no others", () => {
    const flows = [
      flow({ overObjectiveRatio: 0 }),
      flow({ flow: "POST /cart", requestsPerSecond: 2, overObjectiveRatio: 1 }),
      flow({ flow: "cron", entryService: "worker", overObjectiveRatio: 1 }),
    ];
    expect(judgedRequests(setOf(flows), application)).toMatchObject({ good: 300, bad: 30 });
  });

  it("are bad where they failed, however fast: a tenth of those within the objective", () => {
    expect(
      judgedRequests(setOf([flow({ overObjectiveRatio: 0, errorRatio: 0.1 })]), application),
    ).toMatchObject({
      good: 270,
      bad: 30,
    });
    const both = judgedRequests(setOf([flow({ overObjectiveRatio: 0.5, errorRatio: 0.1 })]), application);
    expect(both.bad).toBeCloseTo(300 * 0.55, 9);
  });

  it("are none without traffic", () => {
    expect(judgedRequests(setOf([]), application)).toMatchObject({ good: 0, bad: 0 });
  });
});

describe("what an application costs an hour", () => {
  const running = (service: string, replicasReady: number | undefined, container = {}): Window =>
    Window.parse({
      ...START,
      namespace: "shop",
      service,
      ...(replicasReady !== undefined && { replicasReady }),
      callees: [],
      containers: [{ id: service, cpuLimitCores: 2, memoryLimitBytes: 1e9, ...container }],
    });
  it("is the price of what runs, and of the same services as the plan asks for", () => {
    const windows = [running("cart", 4), running("search", 1)];
    const wishes = [
      wishOf({ service: "cart", allocation: { replicas: 2 } }),
      wishOf({ service: "search", allocation: { replicas: 1, cpuCores: 3, memoryBytes: 2e9 } }),
    ];
    // A container of 2 cores and 1 GB is 0.064 an hour.
    const cost = hourlyCost(setOf([], windows), { wishes }, application);
    expect(cost?.running).toBeCloseTo(5 * 0.064, 12);
    expect(cost?.recommended).toBeCloseTo(2 * 0.064 + 0.098, 12);
  });

  it("leaves out services of which a size is not known on both sides, and is absent without any", () => {
    const windows = [
      running("cart", undefined),
      running("search", 1),
      running("bare", 1, { cpuLimitCores: undefined }),
    ];
    const wishes = [wishOf({ service: "cart" }), wishOf({ service: "bare" })];
    expect(hourlyCost(setOf([], windows), { wishes }, application)).toBeUndefined();
  });
});
