import fc from "fast-check";
import { correctionOf, learntCorrection } from "@tradewind/predictor/plan/correction.ts";
import { describe, expect, it } from "vitest";

describe("the correction of a prediction", () => {
  it.each<{ when: string; facts: Parameters<typeof correctionOf>[0]; factor: number }>([
    { when: "all is steady: as measured", facts: { ratio: 1.7, steady: true }, factor: 1.7 },
    { when: "steady but absurdly high", facts: { ratio: 30, steady: true }, factor: 4 },
    { when: "steady but absurdly low", facts: { ratio: 0.01, steady: true }, factor: 0.5 },
    { when: "a queue builds up: a little", facts: { ratio: 8, steady: false }, factor: 1.25 },
    {
      when: "a queue builds up, around what was learnt",
      facts: { ratio: 8, steady: false, learnt: 2 },
      factor: 2.5,
    },
    { when: "not steady, but as learnt", facts: { ratio: 1.9, steady: false, learnt: 2 }, factor: 1.9 },
    {
      when: "nothing is measured: as learnt",
      facts: { ratio: Number.NaN, steady: true, learnt: 2 },
      factor: 2,
    },
    { when: "nothing is known", facts: { ratio: Number.NaN, steady: false }, factor: 1 },
  ])("$when", ({ facts, factor }) => {
    expect(correctionOf(facts)).toBeCloseTo(factor, 12);
  });

  it("is positive and finite whatever is measured", () => {
    const number = fc.double({ noDefaultInfinity: false });
    fc.assert(
      fc.property(
        number,
        fc.boolean(),
        fc.double({ min: 0.5, max: 4, noNaN: true }),
        (ratio, steady, learnt) => {
          const factor = correctionOf({ ratio, steady, learnt });
          expect(factor).toBeGreaterThan(0);
          expect(factor).toBeLessThanOrEqual(5);
        },
      ),
    );
  });

  it("is learnt window by window", () => {
    expect(learntCorrection(undefined, 1.5)).toBe(1.5);
    expect(learntCorrection(1, 2)).toBeCloseTo(1.3, 12);
  });
});
