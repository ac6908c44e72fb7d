import { emptyMemory } from "@tradewind/predictor/decide/cost/learn/state.ts";
import { emptyState, PolicyState } from "@tradewind/predictor/decide/state.ts";
import { shiftState } from "@tradewind/predictor/decide/shift-state.ts";
import { describe, expect, it } from "vitest";

const latency = { count: 1, meanSeconds: 1, p50Seconds: 1, p95Seconds: 1, p99Seconds: 1 };
const state: PolicyState = {
  ...emptyState("shop", "shop"),
  windowEndMs: 1_000_000,
  shrunkAtMs: 990_000,
  futile: { untilMs: 1_100_000, severity: 2, times: 1 },
  flows: [{ flow: "GET /", latencies: [{ ...latency, endMs: 985_000 }] }],
  services: [{ service: "cart", replicas: 2, seenAtMs: 999_000 }],
};

/** All times in it, by where they stand. */
function timesOf(value: unknown, path = ""): [string, number][] {
  if (typeof value === "number") return path.endsWith("Ms") ? [[path, value]] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => timesOf(each, `${path}.${key}`));
}

describe("the policies' state after the wall clock was set", () => {
  it.each([-120_000, 600_000])("by %i ms has all its times moved by that", (stepMs) => {
    const shifted = PolicyState.parse(shiftState(state, stepMs));
    expect(new Map(timesOf(shifted))).toEqual(
      new Map(timesOf(state).map(([path, ms]) => [path, ms + stepMs])),
    );
    expect(timesOf(state)).toHaveLength(5);
  });

  it("has the last window that models learnt from moved", () => {
    const cost = { ...emptyMemory(75), windowEndMs: 1_000_000 };
    expect(PolicyState.parse(shiftState({ ...state, cost }, 600_000)).cost?.windowEndMs).toBe(1_600_000);
  });

  it("has the days of memory peaks moved, so that a peak is forgotten after as many days as ever", () => {
    const memoryPeaks = [
      { day: 20_000, bytes: 2e9, windows: 5 },
      { day: 19_999, bytes: 1e9, windows: 7 },
    ];
    const known = { ...state, services: [{ ...state.services[0]!, memoryPeaks }] };
    const days = (stepDays: number) =>
      PolicyState.parse(shiftState(known, stepDays * 86_400_000)).services[0]?.memoryPeaks;
    expect(days(-400)?.map(({ day }) => day)).toEqual([19_600, 19_599]);
    expect(days(0.2)).toEqual(memoryPeaks);
    expect(days(-30_000)).toEqual([{ day: 0, bytes: 2e9, windows: 12 }]);
  });

  it("has no time before the epoch, and nothing that was absent", () => {
    expect(PolicyState.parse(shiftState(state, -2e12)).windowEndMs).toBe(0);
    expect(shiftState(emptyState("shop", "shop"), 1_000)).toEqual(emptyState("shop", "shop"));
  });
});
