import { Accuracy } from "@tradewind/core/contract/accuracy.ts";
import type { CauseJudgement } from "@tradewind/core/contract/accuracy.ts";
import {
  accuracyOf,
  emptyAccuracy,
  explanationFor,
  judgementsOf,
  rightOfJudged,
  withJudgements,
} from "@tradewind/predictor/answers/reason/accuracy.ts";
import {
  comparisonOf,
  isBShown,
  keptShare,
  signTest,
  withPair,
} from "@tradewind/predictor/answers/reason/comparison.ts";
import { describe, expect, it } from "vitest";

const cause = (service: string) => ({ service, type: "C" as const, confidence: 1, share: 1, evidence: [] });
const told = { atMs: 1_000, causes: [cause("cart"), cause("ads")] };
const judgement = (part: Partial<CauseJudgement>): CauseJudgement => ({
  atMs: 1,
  reasoner: "built-in",
  source: "operator",
  service: "cart",
  verdict: "first",
  ...part,
});

describe("a label", () => {
  it.each([
    ["cart", "first"],
    ["ads", "among"],
    ["user", "wrong"],
  ])("of '%s' judges an explanation that names cart, then ads, as %s", (service, verdict) => {
    const source = "operator";
    expect(judgementsOf(told, [], { service, source })).toEqual([
      { atMs: 1_000, reasoner: "built-in", source, service, verdict },
    ]);
  });

  it("judges the models that answered too, and one that named nobody as none", () => {
    const opinions = [
      { model: "small", causes: [{ service: "ads", type: "C" as const }] },
      { model: "large", causes: [] },
    ];
    const found = judgementsOf(told, opinions, { service: "ads", type: "C", source: "injected" });
    expect(found.map(({ reasoner, verdict }) => [reasoner, verdict])).toEqual([
      ["built-in", "among"],
      ["small", "first"],
      ["large", "none"],
    ]);
  });

  it("counts once for each source: who says it again corrects what was said", () => {
    const once = withJudgements(emptyAccuracy(), [judgement({})]);
    const again = withJudgements(once, [judgement({ service: "ads", verdict: "wrong" })]);
    expect(again.judgements).toEqual([judgement({ service: "ads", verdict: "wrong" })]);
    expect(withJudgements(again, [judgement({ source: "injected" })]).judgements).toHaveLength(2);
  });

  it("is of the newest explanation of its time, or of the nearest to a moment", () => {
    const kept = [{ atMs: 100 }, { atMs: 200 }, { atMs: 900 }];
    expect(explanationFor(kept, { fromMs: 50, toMs: 300 }, 50)).toEqual({ atMs: 200 });
    expect(explanationFor(kept, { fromMs: 300, toMs: 400 }, 50)).toBeUndefined();
    expect(explanationFor(kept, { fromMs: 870, toMs: 870 }, 50)).toEqual({ atMs: 900 });
    expect(explanationFor(kept, { fromMs: 500, toMs: 500 }, 50)).toBeUndefined();
  });
});

describe("how often causes were right", () => {
  const state = {
    judgements: [
      judgement({ atMs: 1 }),
      judgement({ atMs: 1, source: "verified", verdict: "wrong" }),
      judgement({ atMs: 2, source: "verified", verdict: "among" }),
      judgement({ atMs: 2, reasoner: "small", source: "verified" }),
    ],
    executed: { agreed: 3, differed: 1 },
  };

  it("is counted by who named and who judged", () => {
    const found = Accuracy.parse(accuracyOf(state, { application: "shop", namespace: "default" }));
    expect(found.causes).toEqual([
      { reasoner: "built-in", source: "operator", judged: 1, first: 1, among: 0 },
      { reasoner: "built-in", source: "verified", judged: 2, first: 0, among: 1 },
      { reasoner: "small", source: "verified", judged: 1, first: 1, among: 0 },
    ]);
    expect(found.counterfactuals).toEqual({ executed: 4, agreed: 3 });
  });

  it("counts each explanation once, by a person where one judged it", () => {
    expect(rightOfJudged(state.judgements)).toEqual({ judged: 2, first: 1 });
    expect(rightOfJudged([])).toBeUndefined();
  });
});

describe("two models compared", () => {
  const opinion = (model: string, kept: number, wrong: number) => ({
    model,
    words: "",
    causes: [],
    counterfactuals: [],
    verdicts: { kept, "value-differs": wrong },
    agrees: false,
  });

  it("counts of whose answer the larger share was kept: 3 of 4 against 2 of 2", () => {
    expect(keptShare(opinion("a", 3, 1))).toBe(0.75);
    expect(keptShare({ verdicts: { format: 1 } })).toBe(0);
    const once = withPair(undefined, opinion("a", 3, 1), opinion("b", 2, 0));
    expect(once).toEqual({ a: "a", b: "b", pairs: 1, aBetter: 0, bBetter: 1 });
    expect(withPair(once, opinion("a", 1, 0), opinion("b", 2, 0))).toMatchObject({ pairs: 2, bBetter: 1 });
    expect(withPair(once, opinion("a", 1, 0), opinion("c", 0, 1))).toMatchObject({ pairs: 1, aBetter: 1 });
  });

  it("are told apart by a sign test: 8 to 2 is chance in 112 of 1,024 cases", () => {
    expect(signTest(8, 2)).toBeCloseTo((2 * (1 + 10 + 45)) / 1_024, 12);
    expect(signTest(2, 8)).toBeCloseTo(0.109375, 12);
    expect(signTest(5, 5)).toBe(1);
    expect(signTest(0, 0)).toBe(1);
    expect(signTest(2_000, 1_000)).toBeLessThan(1e-6);
  });

  it("says nothing of which is better below 50 pairs", () => {
    const counts = { a: "a", b: "b", pairs: 49, aBetter: 40, bBetter: 2 };
    expect(comparisonOf(counts)).not.toHaveProperty("pValue");
    expect(comparisonOf({ ...counts, pairs: 50 }).pValue).toBeLessThan(1e-6);
  });

  it("shows one of them all day, and each on about half of the days", () => {
    const days = Array.from({ length: 400 }, (_, day) => isBShown("shop", day * 86_400_000));
    expect(isBShown("shop", 5 * 86_400_000 + 1)).toBe(isBShown("shop", 6 * 86_400_000 - 1));
    expect(days.filter(Boolean).length).toBeGreaterThan(120);
    expect(days.filter(Boolean).length).toBeLessThan(280);
  });
});
