import { describe, expect, it } from "vitest";
import fc from "fast-check";
import { scaled, sizeAction } from "@tradewind/simulator/teacher/scaling.ts";

const STEPS = { cpuCores: 0.1, memoryBytes: 50e6 };
const NOW = { replicas: 3, cpuCores: 1, memoryBytes: 500e6 };

describe("the scaling procedure of DRPC (Alg. 2)", () => {
  it("changes nothing within half an action", () => {
    expect(scaled([0.5, -0.5, 0.5], NOW, STEPS)).toEqual(NOW);
  });

  it("moves sizes by one or two steps, and replicas by one, all in one decision", () => {
    const { cpuCores, memoryBytes, replicas } = scaled([1, -0.6, 0.51], NOW, STEPS);
    expect([cpuCores?.toFixed(6), memoryBytes, replicas]).toEqual(["1.200000", 450e6, 4]);
  });

  it("moves a size as a planner did, by the action that says it", () => {
    const after = (target: number | undefined): number | undefined =>
      scaled([sizeAction(target, 1, 0.1), 0, 0], NOW, STEPS).cpuCores;
    expect(after(undefined)).toBe(1);
    expect(after(1.02)).toBe(1);
    expect(after(1.1)).toBeCloseTo(1.1, 9);
    expect(after(3)).toBeCloseTo(1.2, 9);
    expect(after(0.5)).toBeCloseTo(0.8, 9);
  });

  it("keeps the last replica without brownout, and switches off with it", () => {
    const last = { replicas: 1 };
    expect(scaled([0, 0, -1], last, STEPS)).toEqual({ replicas: 1 });
    expect(scaled([0, 0, -1], last, { ...STEPS, brownout: true })).toEqual({ replicas: 0 });
    expect(scaled([0, 0, -1], { replicas: 0 }, { ...STEPS, brownout: true })).toEqual({ replicas: 0 });
  });

  it("never leaves a size or a number of replicas below its least, whatever the actions", () => {
    const action = fc.double({ min: -9, max: 9, noNaN: true });
    fc.assert(
      fc.property(action, action, action, fc.integer({ min: 1, max: 50 }), (cpu, memory, count, replicas) => {
        const after = scaled([cpu, memory, count], { ...NOW, replicas }, STEPS);
        expect(Math.abs(after.replicas - replicas)).toBeLessThanOrEqual(1);
        expect(after.replicas).toBeGreaterThanOrEqual(1);
        expect(after.cpuCores).toBeGreaterThanOrEqual(STEPS.cpuCores);
        expect(after.memoryBytes).toBeGreaterThanOrEqual(STEPS.memoryBytes);
      }),
    );
  });
});
