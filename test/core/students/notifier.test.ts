import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import {
  divergenceOf,
  KnownStates,
  retrainingCauses,
  RewardNotifier,
} from "@tradewind/core/students/notifier.ts";
import type { StudentRecord } from "@tradewind/core/students/notifier.ts";
import { describe, expect, it } from "vitest";

const LESSONS = Array.from({ length: 1_000 }, (_, at) => stateOf(seededRng(at)));
const KNOWN = new KnownStates(LESSONS);

function stateOf(rng: () => number, shift = 0): number[] {
  return Array.from({ length: 5 }, () => 1 + shift + 0.3 * standardNormal(rng));
}

/** Requests of four kinds of users, drawn one by one. */
function requestsOf(shares: readonly number[], count: number, rng: () => number): Map<string, number> {
  const counts = new Map<string, number>();
  for (let i = 0; i < count; i += 1) {
    let [point, kind] = [rng(), 0];
    while (kind < shares.length - 1 && point >= (shares[kind] ?? 0)) point -= shares[kind++] ?? 0;
    counts.set(`route ${kind}`, (counts.get(`route ${kind}`) ?? 0) + 1);
  }
  return counts;
}
const USUAL = [0.6, 0.3, 0.05, 0.05];

/** As good as the planner, at home in its lessons, and of its mind. */
function calm(seed: number, part: Partial<StudentRecord> = {}): StudentRecord {
  const rng = seededRng(50_000 + seed);
  return {
    rewards: Array.from({ length: 60 }, () => 0.8 + 0.1 * standardNormal(rng)),
    plannerReward: 0.8,
    states: Array.from({ length: 120 }, () => stateOf(rng)),
    agreement: 0.95,
    routes: { taught: requestsOf(USUAL, 3_000, rng), recent: requestsOf(USUAL, 300, rng) },
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

  it("is 'users' where those who searched buy now", () => {
    const rng = seededRng(11);
    const routes = {
      taught: requestsOf(USUAL, 3_000, rng),
      recent: requestsOf([0.1, 0.2, 0.6, 0.1], 300, rng),
    };
    expect(retrainingCauses(calm(1, { routes }), KNOWN)).toEqual(["users"]);
  });

  it("is none of few requests, whatever they are for", () => {
    const routes = { taught: new Map([["a", 1_000]]), recent: new Map([["b", 199]]) };
    expect(retrainingCauses(calm(1, { routes }), KNOWN)).toEqual([]);
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

describe("the divergence of two mixes of users", () => {
  it("is 0 for equal shares, 1 for none in common, and 0.311 for a half of one kind against all of it", () => {
    const of = (a: number, b: number): Map<string, number> =>
      new Map([
        ["a", a],
        ["b", b],
      ]);
    expect(divergenceOf(of(30, 10), of(3, 1))).toBeCloseTo(0, 12);
    expect(divergenceOf(of(1, 0), of(0, 5))).toBeCloseTo(1, 12);
    // Middle (3/4, 1/4): (1/2 log2(2/3) + 1/2 log2 2 + log2(4/3)) / 2.
    expect(divergenceOf(of(1, 1), of(1, 0))).toBeCloseTo(
      (0.5 * Math.log2(2 / 3) + 0.5 + Math.log2(4 / 3)) / 2,
      12,
    );
    expect(divergenceOf(of(1, 1), of(1, 0))).toBeCloseTo(0.311, 3);
    expect(divergenceOf(new Map(), of(1, 1))).toBe(0);
  });
});
