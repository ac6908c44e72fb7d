import fc from "fast-check";
import { correctionOf, learntCorrection } from "@tradewind/predictor/plan/correction.ts";
import { describe, expect, it } from "vitest";

describe("the correction of a prediction", () => {
  it.each<{ when: string; facts: Parameters<typeof correctionOf>[0]; factor: number }>([
    { when: "all is steady: as measured", facts: { ratio: 1.7, steady: true, calls: 100 }, factor: 1.7 },
    { when: "steady but absurdly high", facts: { ratio: 30, steady: true, calls: 100 }, factor: 4 },
    { when: "steady but absurdly low", facts: { ratio: 0.01, steady: true, calls: 100 }, factor: 0.5 },
    { when: "a queue builds up: a little", facts: { ratio: 8, steady: false, calls: 100 }, factor: 1.25 },
    {
      when: "a queue builds up, around what was learnt",
      facts: { ratio: 8, steady: false, calls: 100, learnt: 2 },
      factor: 2.396,
    },
    {
      when: "not steady, but fast: no queue makes it so",
      facts: { ratio: 1, steady: false, calls: 100, learnt: 2 },
      factor: 1.141,
    },
    {
      when: "nothing is measured: as learnt",
      facts: { ratio: Number.NaN, steady: true, calls: 100, learnt: 2 },
      factor: 2,
    },
    // Chance² is 19/100/ln²20 = 0.0212, drift² 0.09: measured counts 0.81.
    {
      when: "something was learnt before: weighted by what chance there is in so many calls",
      facts: { ratio: 2, steady: true, calls: 100, learnt: 1 },
      factor: 1.753,
    },
    {
      when: "few calls are hardly believed against what was learnt",
      facts: { ratio: 2, steady: true, calls: 20, learnt: 1 },
      factor: 1.375,
    },
    { when: "nothing is known", facts: { ratio: Number.NaN, steady: false, calls: 100 }, factor: 1 },
  ])("$when", ({ facts, factor }) => {
    expect(correctionOf(facts)).toBeCloseTo(factor, 3);
  });

  it("is positive and finite whatever is measured", () => {
    const number = fc.double({ noDefaultInfinity: false });
    fc.assert(
      fc.property(
        number,
        fc.boolean(),
        fc.nat(10_000),
        fc.double({ min: 0.5, max: 4, noNaN: true }),
        (ratio, steady, calls, learnt) => {
          const factor = correctionOf({ ratio, steady, calls, learnt });
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
