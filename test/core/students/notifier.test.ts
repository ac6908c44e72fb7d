import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { KnownStates, retrainingCauses, RewardNotifier } from "@tradewind/core/students/notifier.ts";
import type { StudentRecord } from "@tradewind/core/students/notifier.ts";
import { describe, expect, it } from "vitest";

const LESSONS = Array.from({ length: 1_000 }, (_, at) => stateOf(seededRng(at)));
const KNOWN = new KnownStates(LESSONS);

function stateOf(rng: () => number, shift = 0): number[] {
  return Array.from({ length: 5 }, () => 1 + shift + 0.3 * standardNormal(rng));
}

/** As good as the planner, at home in its lessons, and of its mind. */
function calm(seed: number, part: Partial<StudentRecord> = {}): StudentRecord {
  const rng = seededRng(50_000 + seed);
  return {
    rewards: Array.from({ length: 60 }, () => 0.8 + 0.1 * standardNormal(rng)),
    plannerReward: 0.8,
    states: Array.from({ length: 120 }, () => stateOf(rng)),
    agreement: 0.95,
    ...part,
  };
}

describe("the retraining notifier (DRPC, Alg. 4)", () => {
  it("waits for npr rewards, then fires while their mean is below TH: of three, 0.9, 0.5 and 0.4 are 0.6", () => {
    const notifier = new RewardNotifier(0.65, 3);
    expect([0.9, 0.5].map((reward) => notifier.add(reward))).toEqual([false, false]);
    expect(notifier.add(0.4)).toBe(true);
    // The oldest gives way: 0.5, 0.4 and 0.9, then 0.4, 0.9 and 0.9.
    expect([0.9, 0.9].map((reward) => notifier.add(reward))).toEqual([true, false]);
  });

  it("does not fire at the threshold itself", () => {
    const notifier = new RewardNotifier(0.5, 2);
    expect([0.5, 0.5].map((reward) => notifier.add(reward))).toEqual([false, false]);
  });
});

describe("a cause to teach students again", () => {
  it.each<[string, Partial<StudentRecord>]>([
    ["reward", { plannerReward: 0.99, rewards: Array.from({ length: 30 }, () => 0.8) }],
    ["student", { agreement: 0.89 }],
  ])("is '%s' where that is off, and no other", (cause, part) => {
    expect(retrainingCauses(calm(1, part), KNOWN)).toEqual([cause]);
  });

  it("is 'rare-state' where students come to a load that they were never taught", () => {
    const rng = seededRng(9);
    const states = Array.from({ length: 120 }, () => stateOf(rng, 2));
    expect(retrainingCauses(calm(1, { states }), KNOWN)).toEqual(["rare-state"]);
  });

  it("is found in no more than 2 % of 200 calm records", () => {
    const fired = Array.from({ length: 200 }, (_, seed) => retrainingCauses(calm(seed), KNOWN)).filter(
      (causes) => causes.length > 0,
    );
    expect(fired.length).toBeLessThanOrEqual(4);
  });

  it("is none of few rewards and few states", () => {
    const few = calm(1, { rewards: [0, 0, 0], states: [], agreement: 0 });
    expect(retrainingCauses(few, KNOWN)).toEqual([]);
  });
});
