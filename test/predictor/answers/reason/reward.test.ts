import {
  baseReward,
  countPairs,
  formatReward,
  fScore,
  klReward,
  lengthReward,
  lengthScore,
  podScore,
  resultReward,
  rewardOf,
} from "@tradewind/predictor/answers/reason/reward.ts";
import { describe, expect, it } from "vitest";

/** One true cause; the answer names it and one service that is none. */
const ONE = [{ id: 3, type: "C" }] as const;
const TWO_NAMED = [
  { id: 3, type: "C" },
  { id: 5, type: "M" },
] as const;
/** Four true causes of which one is named. */
const FOUR = [1, 2, 3, 4].map((id) => ({ id, type: "C" as const }));

describe("the reward of a transcript, worked by hand", () => {
  it("Eq. 5: one of two named services is right, so S_pod is 1/2", () => {
    expect(podScore(TWO_NAMED, ONE)).toBeCloseTo(0.5, 5);
    expect(podScore([], ONE)).toBe(0);
  });

  it("Eq. 5: the right service with the wrong type still counts", () => {
    expect(podScore([{ id: 3, type: "M" }], ONE)).toBeCloseTo(1, 5);
  });

  it("Eq. 6: one right, none missed, one wrong gives 5 / (5 + 0 + 1)", () => {
    expect(countPairs(TWO_NAMED, ONE)).toEqual({ right: 1, missed: 0, wrong: 1 });
    expect(fScore({ right: 1, missed: 0, wrong: 1 })).toBeCloseTo(5 / 6, 6);
  });

  it("Eq. 6: a missed cause weighs four times a wrong one", () => {
    expect(fScore({ right: 1, missed: 1, wrong: 0 })).toBeCloseTo(5 / 9, 6);
    expect(fScore({ right: 1, missed: 0, wrong: 4 })).toBeCloseTo(5 / 9, 6);
  });

  it("Eq. 7: 0.2 * 1/2 + 0.8 * 5/6 + 0.1", () => {
    expect(baseReward(TWO_NAMED, ONE)).toBeCloseTo(0.866_667, 5);
  });

  it("Eq. 8: three missed causes cost 0.1 for each beyond the first: 0.2 + 0.8 * 5/17 + 0.1 - 0.2", () => {
    expect(resultReward(ONE, FOUR)).toBeCloseTo(0.335_294, 5);
  });

  it("Eq. 9: four failed checks of sixteen cost a quarter", () => {
    expect(formatReward(4)).toBe(-0.25);
    expect(formatReward(0)).toBe(0);
  });

  it.each([
    [0, 0],
    [200, 0],
    [1_100, -0.5],
    [2_000, -1],
    [9_000, -1],
  ])("Eq. 10: an answer of %d tokens scores %d", (tokens, score) => {
    expect(lengthScore(tokens)).toBe(score);
  });

  it("Eq. 11: length counts for right answers only, as printed", () => {
    expect(lengthReward(0.9, 1_100)).toBe(-0.5);
    expect(lengthReward(0.3, 1_100)).toBe(0);
  });

  it("Eq. 12: a divergence of 3 nats at kappa 0.02 costs 0.06", () => {
    expect(klReward(3)).toBeCloseTo(-0.06, 12);
  });

  it("Eq. 13: the sum of result, format and length", () => {
    const reward = rewardOf({ named: TWO_NAMED, truth: ONE, invalid: 4, tokens: 1_100 });
    expect(reward.total).toBeCloseTo(0.866_667 - 0.25 - 0.5, 5);
  });
});
