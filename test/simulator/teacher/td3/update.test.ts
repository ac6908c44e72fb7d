import { describe, expect, it } from "vitest";
import { follow, smoothedAction, targetValue } from "@tradewind/simulator/teacher/td3/update.ts";

describe("the arithmetic of TD3 (DRPC, Alg. 3)", () => {
  it.each([
    // Action, noise, and the action smoothed with a clip of 0.5.
    [0.2, 0.1, 0.3],
    [0.2, 0.9, 0.7],
    [0.2, -0.9, -0.3],
    [0.8, 0.4, 1],
    [-0.8, -2, -1],
  ])("Eq. 5: %d with noise %d is %d", (action, noise, smoothed) => {
    expect(smoothedAction(action, noise, 0.5)).toBeCloseTo(smoothed, 12);
  });

  it("Eq. 6: adds the discounted lesser of both critics, and nothing where the episode ended", () => {
    expect(targetValue({ reward: 0.5, isEnd: false }, [10, 8], 0.99)).toBeCloseTo(8.42, 12);
    expect(targetValue({ reward: 0.5, isEnd: false }, [-3, 8], 0.99)).toBeCloseTo(-2.47, 12);
    expect(targetValue({ reward: 0.5, isEnd: true }, [10, 8], 0.99)).toBe(0.5);
  });

  it("targets keep ρ of themselves and take the rest from the network", () => {
    const target = Float32Array.of(1, 0);
    follow(target, Float32Array.of(0, 2), 0.75);
    expect([...target]).toEqual([0.75, 0.5]);
  });
});
