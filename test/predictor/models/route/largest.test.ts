import { emptyLargest, largestOfEqual, largestOfTwo } from "@tradewind/predictor/models/route/largest.ts";
import type { Largest } from "@tradewind/predictor/models/route/largest.ts";
import { emptyLogMoments } from "@tradewind/predictor/models/route/lognormal.ts";
import { normalCdf } from "@tradewind/predictor/models/normal.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

function ofTwo(meanA: number, varianceA: number, meanB: number, varianceB: number): Largest {
  const out = emptyLargest();
  const a = { ...emptyLogMoments(), mean: meanA, variance: varianceA };
  const b = { ...emptyLogMoments(), mean: meanB, variance: varianceB };
  largestOfTwo(a, b, out);
  return out;
}

describe("the longer of two log-normal times", () => {
  it("has the mean 2·e^(s/2)·Φ(√(s/2)) where both are alike", () => {
    const { mean, variance } = ofTwo(0, 0.5, 0, 0.5);
    expect(mean).toBeCloseTo(2 * Math.exp(0.25) * normalCdf(0.5), 12);
    expect(variance).toBeCloseTo(2 * Math.exp(1) * normalCdf(1) - mean * mean, 12);
  });

  it("is the longer one where both are certain, or one is far longer", () => {
    expect(ofTwo(0, 0, 1, 0)).toMatchObject({ mean: Math.E, variance: 0 });
    expect(ofTwo(20, 0.3, 0, 0.3).mean).toBeCloseTo(Math.exp(20.15), 3);
  });

  it("has the slopes of its moments", () => {
    const part = fc.double({ min: -1.5, max: 1.5, noNaN: true });
    const spread = fc.double({ min: 0.05, max: 1.5, noNaN: true });
    fc.assert(
      fc.property(part, spread, part, spread, (meanA, varianceA, meanB, varianceB) => {
        const at = [meanA, varianceA, meanB, varianceB] as const;
        const slope = (index: number, of: "mean" | "variance"): number => {
          const moved = (h: number): number =>
            ofTwo(
              ...(at.map((value, i) => (i === index ? value + h : value)) as [
                number,
                number,
                number,
                number,
              ]),
            )[of];
          return (moved(1e-6) - moved(-1e-6)) / 2e-6;
        };
        const out = ofTwo(...at);
        const scale = 1 + out.mean + out.variance;
        const slopes = [
          [out.meanByLogMeanA, slope(0, "mean")],
          [out.meanByLogVarianceA, slope(1, "mean")],
          [out.meanByLogMeanB, slope(2, "mean")],
          [out.meanByLogVarianceB, slope(3, "mean")],
          [out.varianceByLogMeanA, slope(0, "variance")],
          [out.varianceByLogVarianceA, slope(1, "variance")],
          [out.varianceByLogMeanB, slope(2, "variance")],
          [out.varianceByLogVarianceB, slope(3, "variance")],
        ] as const;
        for (const [stated, measured] of slopes) expect(stated / scale).toBeCloseTo(measured / scale, 5);
      }),
    );
  });
});

describe("the longest of several times of one kind", () => {
  // Expected largest of n standard normals and its deviation: D. Teichroew, Tables of expected values of order statistics, 1956.
  it.each([
    { count: 2, above: 0.564_19, deviation: 0.825_65 },
    { count: 5, above: 1.162_96, deviation: 0.668_98 },
    { count: 10, above: 1.538_75, deviation: 0.586_81 },
    { count: 20, above: 1.867_48, deviation: 0.525_07 },
  ])("is that of $count normal times where they hardly vary", ({ above, count, deviation }) => {
    const found = largestOfEqual(count, 0);
    expect(found.above).toBeCloseTo(above, 2);
    expect(found.deviation).toBeCloseTo(deviation, 2);
  });

  it("agrees with the longer of two, and is the time itself for one", () => {
    const spread = 0.8;
    const mean = Math.exp(spread ** 2 / 2);
    const deviation = mean * Math.sqrt(Math.expm1(spread ** 2));
    const two = ofTwo(0, spread ** 2, 0, spread ** 2);
    const found = largestOfEqual(2, spread);
    expect(mean + found.above * deviation).toBeCloseTo(two.mean, 6);
    expect(found.deviation * deviation).toBeCloseTo(Math.sqrt(two.variance), 5);
    const one = largestOfEqual(1, spread);
    expect(one.above).toBeCloseTo(0, 9);
    expect(one.deviation).toBeCloseTo(1, 6);
  });
});
