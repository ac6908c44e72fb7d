import { Application } from "@tradewind/core/contract/application.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { memoryByPeak } from "../../bench/pick/picks.ts";

const window = (service: string, memoryLimitBytes: number): Window => ({
  namespace: "default",
  service,
  startMs: 0,
  endMs: 15_000,
  replicasReady: 1,
  callees: [],
  containers: [{ id: service, cpuLimitCores: 1, memoryLimitBytes }],
});

describe("memoryByPeak", () => {
  it("names the services whose limit is under 1.3 times the highest use, whatever their latency", () => {
    const windows = [window("full", 120e6), window("roomy", 140e6), window("unknown", 10e6)];
    const peak = { day: 0, bytes: 100e6, windows: 30 };
    const state = {
      application: Application.parse({ entry: "full", objective: { milliseconds: 1 } }),
      windowSet: { startMs: 0, endMs: 15_000, windows, flows: [] },
      known: new Map(),
      memoryPeaks: new Map([
        ["full", [peak]],
        ["roomy", [peak]],
      ]),
    };
    expect(memoryByPeak(state)).toEqual([0]);
  });
});
