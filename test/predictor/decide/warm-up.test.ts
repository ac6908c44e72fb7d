import type { Window } from "@tradewind/core/contract/window.ts";
import { warmUpAfter } from "@tradewind/predictor/decide/cost/learn/warm-up.ts";
import { describe, expect, it } from "vitest";
import { START_MS, window } from "../measurements.ts";

const YOUNG_MS = 120_000;

type Container = readonly [cpuUsageCores: number, ageSeconds: number];

/** Containers of one core by what they use, and how long ago they started, seconds. */
function windowOf(...containers: readonly Container[]): Window {
  const made = window({ service: "cart", replicas: containers.length, rate: 20, ownSeconds: 0.05 });
  return {
    ...made,
    containers: containers.map(([cpuUsageCores, ageSeconds], at) => ({
      id: `c${at}`,
      cpuLimitCores: 1,
      cpuUsageCores,
      startedAtMs: made.endMs - 1e3 * ageSeconds,
    })),
  };
}

const after = (had: number | undefined, ...containers: readonly Container[]): number | undefined =>
  warmUpAfter(had, windowOf(...containers), YOUNG_MS);

describe("the warm-up of a service", () => {
  it("is what a young container uses over what the others use", () => {
    expect(after(undefined, [0.2, 3_600], [0.2, 600], [0.6, 60])).toBeCloseTo(3, 9);
  });

  it("is not known from a rolling update, whose young containers are of another program", () => {
    const update = { ...windowOf([0.2, 3_600], [0.4, 60]), newestRevisionShare: 0.5 };
    expect(warmUpAfter(undefined, update, YOUNG_MS)).toBeUndefined();
    expect(warmUpAfter(1.1, update, YOUNG_MS)).toBe(1.1);
    expect(warmUpAfter(undefined, { ...update, newestRevisionShare: 1 }, YOUNG_MS)).toBeCloseTo(2, 9);
  });

  it("moves by a quarter of the distance with each window", () => {
    expect(after(2, [0.2, 600], [0.6, 60])).toBeCloseTo(2.25, 9);
  });

  it("is not known from containers of one kind, nor while the older ones are full", () => {
    expect(after(undefined, [0.2, 600], [0.3, 600])).toBeUndefined();
    expect(after(undefined, [0.2, 60], [0.3, 60])).toBeUndefined();
    expect(after(2, [0.96, 600], [0.3, 60])).toBe(2);
    expect(after(2, [0, 600], [0.3, 60])).toBe(2);
  });

  it("is at least what a full young container shows", () => {
    expect(after(4, [0.4, 600], [1, 60])).toBe(4);
    expect(after(2, [0.25, 600], [1, 60])).toBeCloseTo(2.5, 9);
  });

  it("lies between 1 and 10", () => {
    expect(after(undefined, [0.4, 600], [0.2, 60])).toBe(1);
    expect(after(undefined, [0.001, 600], [0.5, 60])).toBe(10);
  });

  it("is not known of containers that do not say when they started or what they use", () => {
    const made = windowOf([0.2, 600], [0.6, 60]);
    const silent = made.containers.map(({ cpuLimitCores, id }) => ({ id, cpuLimitCores }));
    expect(warmUpAfter(undefined, { ...made, containers: silent }, YOUNG_MS)).toBeUndefined();
    expect(made.startMs).toBe(START_MS);
  });
});
