import { describe, expect, it } from "vitest";
import { qosReward, reward, utilReward } from "@tradewind/simulator/teacher/reward.ts";

describe("the reward of DRPC", () => {
  it.each([
    [0.15, 1],
    [0.2, 1],
    [0.3, Math.exp(-0.25)],
    [0.4, Math.exp(-1)],
  ])("Eq. 1: a tail of %d s with an objective of 0.2 s is worth %d", (tail, worth) => {
    expect(qosReward(tail, 0.2)).toBeCloseTo(worth, 12);
  });

  it("Eq. 2: adds up cubed distances of both resources and divides by the number of machines", () => {
    const aims = { cpu: 0.75, memory: 0.75 };
    expect(utilReward([{ cpu: 0.6, memory: 0.75 }], aims)).toBeCloseTo(1.003375, 9);
    // Below and above the aim alike: 0.25³ + 0.25³ + 0.75³ over two machines.
    expect(
      utilReward(
        [
          { cpu: 0.5, memory: 1 },
          { cpu: 0, memory: 0.75 },
        ],
        aims,
      ),
    ).toBeCloseTo(1 + (2 * 0.25 ** 3 + 0.75 ** 3) / 2, 12);
    expect(utilReward([], aims)).toBe(1);
  });

  it("Eq. 3: is 1 at the aim within the objective, and above 0 always", () => {
    expect(reward(qosReward(0.1, 0.2), utilReward([{ cpu: 0.65, memory: 0.75 }]))).toBe(1);
    expect(reward(qosReward(5, 0.2), utilReward([{ cpu: 4, memory: 4 }]))).toBeGreaterThanOrEqual(0);
  });
});
