import type { Bounds } from "@tradewind/core/contract/plan.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { lessonsOf, seenWindow, SILENT_WINDOWS } from "@tradewind/predictor/learn/students/silent-view.ts";
import type { SeenWindow } from "@tradewind/predictor/learn/students/silent-view.ts";
import { describe, expect, it } from "vitest";
import { wishOf } from "../../../exporter/wish.ts";

const BOUNDS: Bounds = wishOf().bounds;

interface At {
  readonly window: number;
  readonly pods: number;
  readonly usedCores: number;
  readonly replicas: number;
}

/** A window of 15 s: pods of one core with 1 GB, of which half is in use, that use so much CPU in all; and the decision on it. */
function seenAt({ pods, replicas, usedCores, window }: At): SeenWindow {
  const startMs = 15_000 * window;
  const measured: Window = {
    namespace: "shop",
    service: "cart",
    startMs,
    endMs: startMs + 15_000,
    callees: [],
    containers: Array.from({ length: pods }, (_, i) => ({
      id: `cart-${i}`,
      cpuLimitCores: 1,
      cpuUsageCores: usedCores / pods,
      memoryLimitBytes: 1e9,
      memoryWorkingSetBytes: 5e8,
    })),
  };
  const evidence = { cpuSecondsPerRequest: 0.01, requestsPerSecond: 100 * usedCores, cpuPodCapacityCores: 1 };
  const wish = wishOf({ allocation: { replicas }, evidence, observed: { memoryBytes: 1e9, complete: true } });
  const seen = seenWindow(measured, wish);
  if (seen === undefined) throw new Error("the window cannot be read");
  return seen;
}

describe("what a scaler could have seen had the predictor been silent", () => {
  const calm = Array.from({ length: 21 }, (_, window) =>
    seenAt({ window, pods: 2, usedCores: 1, replicas: 2 }),
  );

  it("is one lesson for each length of a silence where nothing was added since the plan", () => {
    const now = seenAt({ window: 21, pods: 2, usedCores: 1, replicas: 2 });
    const lessons = lessonsOf(calm, now, BOUNDS);
    expect(lessons).toHaveLength(SILENT_WINDOWS.length);
    // Half of two cores, half of the memory, what was planned, the load of the plan, and the same ahead.
    for (const { actions, inputs } of lessons) {
      expect(inputs).toEqual([0.5, 0.5, 1, 1, 1]);
      expect(actions).toEqual([0, 0, 0]);
    }
  });

  it("teaches to double where the planner went from 2 to 4 for 1.6 times the load, at 0.8 of two cores", () => {
    const [first] = lessonsOf(calm, seenAt({ window: 21, pods: 2, usedCores: 1.6, replicas: 4 }), BOUNDS);
    const [cpu, , replicas, load, ahead = 0] = first?.inputs ?? [];
    expect([cpu, replicas, load]).toEqual([0.8, 1, 1.6]);
    // From 1 at the plan, 45 s ago, 0.6 more: in 75 s one more than now.
    expect(ahead).toBeCloseTo(1.6 + (0.6 / 45) * 75, 9);
    expect(first?.actions[2]).toBeCloseTo(0.95, 12);
  });

  it("has two states where the planner added since: with what was planned, throttled at its quota, and with what was added", () => {
    const grown = [...calm.slice(0, 20), seenAt({ window: 20, pods: 4, usedCores: 3, replicas: 4 })];
    const now = seenAt({ window: 21, pods: 4, usedCores: 3, replicas: 4 });
    const [planned, added] = lessonsOf(grown, now, BOUNDS);
    // Two pods would have used two cores, all of their periods throttled: that counts twice.
    expect(planned?.inputs.slice(0, 4)).toEqual([2, 0.5, 1, 4]);
    expect(planned?.actions[2]).toBe(0.95);
    expect(added?.inputs.slice(0, 4)).toEqual([0.75, 0.5, 0.5, 3]);
    expect(added?.actions[2]).toBe(0);
  });

  it("teaches no removal below the last plan: what the planner removed since stays in a silence", () => {
    const now = seenAt({ window: 21, pods: 2, usedCores: 0.4, replicas: 1 });
    for (const { actions } of lessonsOf(calm, now, BOUNDS)) expect(actions[2]).toBe(0);
  });

  it("is nothing before as many windows have gone by", () => {
    const now = seenAt({ window: 21, pods: 2, usedCores: 1, replicas: 2 });
    expect(lessonsOf(calm.slice(-2), now, BOUNDS)).toEqual([]);
  });
});
