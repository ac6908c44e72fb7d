import { proposalConfidence } from "@tradewind/predictor/answers/reason/proposal-confidence.ts";
import { describe, expect, it } from "vitest";

const steady = Array.from({ length: 12 }, () => 50);

describe("the confidence of a proposal", () => {
  it("is 40 % precedents, 40 % accuracy and 20 % steadiness: 0.9, an error of 10 % and no variation make 92", () => {
    expect(proposalConfidence({ similarities: [0.9], error: 0.1, loads: steady })).toBeCloseTo(92, 9);
  });

  it("takes the mean of the three most alike: 0.9, 0.8 and 0.7 make 32 of 40", () => {
    const similarities = [0.9, 0.8, 0.7, 0.1];
    expect(proposalConfidence({ similarities, error: 1, loads: [] })).toBeCloseTo(32, 9);
  });

  it("gives nothing for what is not known, and never less than nothing for a bad model", () => {
    expect(proposalConfidence({ similarities: [], error: undefined, loads: steady.slice(1) })).toBe(0);
    expect(proposalConfidence({ similarities: [], error: 7, loads: [] })).toBe(0);
  });

  it("counts a steady trend as steady, and swings about it as doubt: half the mean up and down leaves two thirds", () => {
    const rising = Array.from({ length: 12 }, (_, at) => 10 + at);
    expect(proposalConfidence({ similarities: [], error: 1, loads: rising })).toBeCloseTo(20, 9);
    // Up, down, down, up has no slope.
    const swinging = Array.from({ length: 12 }, (_, at) => (at % 4 === 0 || at % 4 === 3 ? 15 : 5));
    expect(proposalConfidence({ similarities: [], error: 1, loads: swinging })).toBeCloseTo(20 / 1.5, 1);
  });
});
