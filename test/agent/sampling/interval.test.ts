import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/rng.ts";
import {
  budgetStep,
  diffusionGain,
  estimatedMiss,
  jittered,
  missShare,
  tailProbability,
} from "../../../agent/sampling/interval.ts";

describe("tailProbability", () => {
  it.each([
    { x: 0, p: 1 },
    { x: 1, p: 0.317311 },
    { x: 1.96, p: 0.049996 },
    { x: 3, p: 0.0027 },
  ])("agrees with the table of the normal distribution at $x", ({ x, p }) => {
    expect(tailProbability(x)).toBeCloseTo(p, 5);
  });
});

describe("diffusionGain", () => {
  it.each(["counter", "gauge"] as const)("makes a diffusing %s miss for the target share", (kind) => {
    for (const target of [0.01, 0.03, 0.05, 0.2]) {
      expect(missShare(Math.sqrt(diffusionGain(target, kind)), kind)).toBeCloseTo(target, 4);
    }
  });

  it("gives a counter shorter gaps than a gauge, whose held level does not lag", () => {
    expect(diffusionGain(0.05, "counter")).toBeLessThan(diffusionGain(0.05, "gauge"));
    expect(diffusionGain(0.05, "counter")).toBeCloseTo(0.28, 1);
  });
});

describe("estimatedMiss", () => {
  it("is 0 up to the tolerance and nears 1 far beyond it", () => {
    expect(estimatedMiss(0.02, 0.05, 2)).toBe(0);
    expect(estimatedMiss(-0.05, 0.05, 2)).toBe(0.5);
    expect(estimatedMiss(5, 0.05, 2)).toBe(0.995);
  });
});

describe("budgetStep", () => {
  it("lengthens by gain x target on a hit and shortens by gain x (1 - target) on a miss", () => {
    const range = { gain: 0.6, low: -9, high: 9 };
    expect(Math.exp(budgetStep(0, 0, 0.05, range))).toBeCloseTo(1.0305, 4);
    expect(Math.exp(budgetStep(0, 1, 0.05, range))).toBeCloseTo(0.5655, 4);
  });

  it("keeps the mean miss within ln(Tmax/Tmin) / (eta K) of the target while it is not clipped", () => {
    const eta = 0.6;
    const target = 0.05;
    const range = { gain: eta, low: Math.log(1), high: Math.log(60) };
    fc.assert(
      fc.property(fc.double({ min: 0.1, max: 4, noNaN: true }), fc.integer(), (hardness, seed) => {
        const rng = seededRng(seed);
        let x = Math.log(8);
        let sum = 0;
        let count = 0;
        for (let step = 0; step < 500; step += 1) {
          const miss = rng() < 1 - Math.exp((-hardness * Math.exp(x)) / 60) ? 1 : 0;
          const next = budgetStep(x, miss, target, range);
          const isClipped = next === range.low || next === range.high;
          if (isClipped) break;
          x = next;
          sum += miss;
          count += 1;
        }
        if (count === 0) return;
        const bound = Math.log(60) / (eta * count);
        expect(Math.abs(sum / count - target)).toBeLessThanOrEqual(bound + 1e-9);
      }),
    );
  });

  it("never leaves its bounds", () => {
    const range = { gain: 5, low: -2, high: 0 };
    expect(budgetStep(-2, 1, 0.05, range)).toBe(-2);
    expect(budgetStep(0, 0, 0.05, range)).toBe(0);
  });
});

describe("jittered", () => {
  it("moves by at most a tenth either way", () => {
    expect(jittered(10, 0)).toBe(9);
    expect(jittered(10, 0.5)).toBe(10);
    expect(jittered(10, 0.999999)).toBeCloseTo(11, 4);
  });
});
