import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AIMS, qosReward, reward, utilReward } from "@tradewind/simulator/teacher/reward.ts";

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

  it("Eq. 4, as meant: it is largest within the objective at the aimed use, and falls with either distance", () => {
    const worth = (tail: number, cpu: number): number =>
      reward(qosReward(tail, 0.2), utilReward([{ cpu, memory: AIMS.memory }]));
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(share, share, share, share, (tail, later, use, off) => {
        const best = worth(0.2, AIMS.cpu);
        const farther = use < AIMS.cpu ? use - off : use + off;
        expect(worth(tail, use)).toBeLessThanOrEqual(best);
        expect(worth(tail + later, farther)).toBeLessThanOrEqual(worth(tail, use));
      }),
    );
    // A miss by half at a use of 0.15 too much: e^-0.25 over 1 + 0.15³.
    expect(worth(0.3, 0.8)).toBeCloseTo(Math.exp(-0.25) / 1.003375, 12);
  });
});
