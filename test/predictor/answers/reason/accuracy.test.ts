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
    expect(judgementsOf(told, { service, source })).toEqual([
      { atMs: 1_000, reasoner: "built-in", source, service, verdict },
    ]);
  });

  it.each([
    ["first", [{ service: "ads", type: "C" as const }]],
    ["none", []],
  ])("judges a model's opinion too, as %s", (verdict, causes) => {
    const opinion = { model: "small", words: "", causes, counterfactuals: [], verdicts: {}, agrees: false };
    const found = judgementsOf({ ...told, opinion }, { service: "ads", type: "C", source: "injected" });
    expect(found.map((each) => [each.reasoner, each.verdict])).toEqual([
      ["built-in", "among"],
      ["small", verdict],
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
