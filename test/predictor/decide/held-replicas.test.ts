import type { FixedService } from "@tradewind/core/contract/override.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { RESIZABLE } from "./modelled.ts";
import { course, FRONTEND, last, made, replicasOf, SHOP, unchanged, wishOf } from "./decisions.ts";
import type { Change } from "./decisions.ts";

/** What is known of the autoscaler of the backend. */
const reached =
  (bounds: Partial<WindowSet["windows"][number]>): Change =>
  (set) => ({
    ...set,
    windows: set.windows.map((each) => (each.service === "backend" ? { ...each, ...bounds } : each)),
  });

describe("policy auto and an autoscaler that cannot go everywhere", () => {
  const LOADED = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 120 })];
  const IDLE = [FRONTEND, made("backend", { replicas: 6, requestsPerSecond: 10 })];
  const after = (services: typeof LOADED, bounds: Partial<WindowSet["windows"][number]>) =>
    last(course(40, services, reached(bounds)));

  it("leaves alone what is held still, however much it lacks", () => {
    expect(replicasOf(after(LOADED, {}))).toBeGreaterThan(2);
    const held = { minReplicas: 2, maxReplicas: 2, scalingPaused: true } as const;
    expect(replicasOf(after(LOADED, held))).toBe(2);
  });

  it("takes nothing away where scaling in is paused, and adds nothing where scaling out is", () => {
    expect(replicasOf(after(IDLE, {}))).toBeLessThan(6);
    expect(replicasOf(after(IDLE, { minReplicas: 6, maxReplicas: 9 }))).toBe(6);
    expect(replicasOf(after(LOADED, { minReplicas: 1, maxReplicas: 2 }))).toBe(2);
  });

  it("plans within the bounds of the autoscaler, which has the last word over the application's", () => {
    expect(replicasOf(after(LOADED, { minReplicas: 8, maxReplicas: 9 }))).toBe(8);
  });
});

describe("policy auto and a service that a person keeps", () => {
  const LOADED = [FRONTEND, made("backend", { replicas: 2, requestsPerSecond: 120 })];
  const IDLE = [FRONTEND, made("backend", { replicas: 6, requestsPerSecond: 10 })];
  const after = (services: typeof LOADED, order: Omit<FixedService, "service">) =>
    last(course(40, services, unchanged, { overrides: [{ service: "backend", ...order }] }));

  it("plans what is held, however much it lacks or has to spare", () => {
    expect(replicasOf(after(LOADED, { kind: "hold", replicas: 2 }))).toBe(2);
    expect(replicasOf(after(IDLE, { kind: "undo", replicas: 6 }))).toBe(6);
    expect(replicasOf(after(LOADED, { kind: "hold", replicas: 5 }))).toBe(5);
  });

  it("plans what runs of a paused one", () => {
    expect(replicasOf(after(LOADED, { kind: "pause" }))).toBe(2);
    expect(replicasOf(after(IDLE, { kind: "pause" }))).toBe(6);
  });

  it("plans no less than a floor, and more where it is needed", () => {
    expect(replicasOf(after(IDLE, { kind: "floor", replicas: 5 }))).toBe(5);
    expect(replicasOf(after(LOADED, { kind: "floor", replicas: 1 }))).toBeGreaterThan(2);
  });

  it("keeps the sizes of its containers, as named or as they run", () => {
    const bounds = (cpuCores?: number) => {
      const order = { service: "backend", kind: "hold", replicas: 2, cpuCores } as const;
      const outcome = last(course(1, SHOP, unchanged, { application: RESIZABLE, overrides: [order] }));
      return wishOf(outcome, "backend");
    };
    expect(bounds(1.25).bounds).toMatchObject({ cpuMinCores: 1.25, cpuMaxCores: 1.25 });
    const asItRuns = bounds();
    expect(asItRuns.bounds.cpuMinCores).toBe(asItRuns.observed.cpuCores);
    expect(asItRuns.bounds.cpuMaxCores).toBe(asItRuns.observed.cpuCores);
  });
});

it("a LimitRange bounds what a container may be, within the application's own bounds", () => {
  const containerLimits = { cpuMinCores: 0.2, cpuMaxCores: 1.5, memoryMaxBytes: 2e9 };
  const outcome = last(course(1, SHOP, unchanged, { application: RESIZABLE, containerLimits }));
  expect(wishOf(outcome, "backend").bounds).toMatchObject({
    cpuMinCores: 0.2,
    cpuMaxCores: 1.5,
    memoryMinBytes: 64e6,
    memoryMaxBytes: 2e9,
  });
});
