import { describe, expect, it } from "vitest";
import { KUBERNETES_DEFAULT_BEHAVIOR } from "@tradewind/local/actuator/behavior.ts";
import { createCpuMeter } from "@tradewind/local/actuator/cpu-meter.ts";
import { cpuMetric } from "@tradewind/local/actuator/cpu-metric.ts";
import { proposeReplicas } from "@tradewind/local/actuator/hpa.ts";

/** Replicas that an HPA asks for; `undefined` stands for a pod without a reading. */
const proposed = (usage: readonly (number | undefined)[], cpuRatio = 0.5): number | undefined =>
  proposeReplicas(cpuMetric(usage, 0.2, cpuRatio), usage.length, KUBERNETES_DEFAULT_BEHAVIOR)?.replicas;

describe("the CPU metric of an HPA", () => {
  it("doubles the replicas at twice the target: ceil(current · use / target)", () => {
    expect(proposed([0.2, 0.2])).toBe(4);
    expect(proposed([0.05, 0.05, 0.05, 0.05])).toBe(2);
  });

  it("moves nothing within the tolerance of 10 %", () => {
    expect(proposed([0.109, 0.109])).toBe(2);
    expect(proposed([0.092, 0.092])).toBe(2);
    expect(proposed([0.12, 0.12])).toBe(3);
  });

  it("counts pods without a reading as idle where the others ask for more", () => {
    // 0.4 cores over a target of 0.1 each: 4 replicas, not 8 as the mean of the two would say.
    expect(proposed([0.2, 0.2, undefined, undefined])).toBe(4);
  });

  it("counts pods without a reading as fully used where the others ask for less", () => {
    // 2 · 0.02 + 2 · 0.2 over 0.1 is 4.4; that turns the direction round, so nothing moves.
    expect(proposed([0.02, 0.02, undefined, undefined])).toBe(4);
    // 3 · 0.02 + 0.2 over 0.1 is 2.6.
    expect(proposed([0.02, 0.02, 0.02, undefined])).toBe(3);
  });

  it("is missing while no pod has a reading", () => {
    expect(cpuMetric([undefined], 0.2, 0.5)).toBeUndefined();
    expect(cpuMetric([], 0.2, 0.5)).toBeUndefined();
  });
});

describe("the CPU meter", () => {
  const at = (seconds: number, cpuSeconds: number, id = "a") => ({ id, atMs: seconds * 1e3, cpuSeconds });

  it("gives the mean since the newest reading that is old enough", () => {
    const meter = createCpuMeter(3);
    for (const [seconds, cpuSeconds] of [
      [0, 0],
      [1, 0.5],
      [2, 1],
    ] as const)
      meter.observe([at(seconds, cpuSeconds)]);
    expect(meter.usageCores("a")).toBeUndefined();
    meter.observe([at(3, 1.2)]);
    expect(meter.usageCores("a")).toBeCloseTo(0.4, 12);
    meter.observe([at(5, 1.2)]);
    expect(meter.usageCores("a")).toBeCloseTo(0.2 / 3, 12);
  });

  it("ignores a reading that it has already, and forgets containers that are gone", () => {
    const meter = createCpuMeter(2);
    meter.observe([at(0, 0), at(0, 0, "b")]);
    meter.observe([at(2, 1), at(2, 1, "b")]);
    meter.observe([at(2, 1)]);
    expect(meter.usageCores("a")).toBeCloseTo(0.5, 12);
    expect(meter.usageCores("b")).toBeUndefined();
  });
});
