import { learntCorrection, shownBy } from "@tradewind/predictor/learning/correction.ts";
import { describe, expect, it } from "vitest";

describe("the correction of a prediction", () => {
  it.each([
    { ratio: 1.7, shown: 1.7 },
    { ratio: 30, shown: 4 },
    { ratio: 0.01, shown: 0.5 },
    { ratio: 0, shown: undefined },
    { ratio: Number.NaN, shown: undefined },
    { ratio: Number.POSITIVE_INFINITY, shown: undefined },
  ])("is $shown where measured over predicted is $ratio", ({ ratio, shown }) => {
    expect(shownBy(ratio)).toBe(shown);
  });

  it("takes three tenths of each new window", () => {
    expect(learntCorrection(undefined, 1.5)).toBe(1.5);
    expect(learntCorrection(1, 2)).toBeCloseTo(1.3, 12);
  });
});
