import { mean } from "@tradewind/core/values/statistics.ts";
import { describe, expect, it } from "vitest";
import { exponential, seededRng, standardNormal } from "@tradewind/core/values/rng.ts";

const draw = (seed: number, count: number): number[] => {
  const rng = seededRng(seed);
  return Array.from({ length: count }, () => rng());
};

describe("seededRng", () => {
  it("repeats its sequence for the same seed and differs for another", () => {
    expect(draw(7, 20)).toEqual(draw(7, 20));
    expect(draw(7, 20)).not.toEqual(draw(8, 20));
  });

  it("is uniform on [0, 1): each of ten bins holds a tenth of 100,000 draws within five standard errors", () => {
    const bins = Array.from({ length: 10 }, () => 0);
    for (const value of draw(1, 100_000)) bins[Math.floor(value * 10)]! += 1;
    for (const count of bins) expect(Math.abs(count - 10_000)).toBeLessThan(5 * Math.sqrt(9_000));
  });

  it("gives exponential gaps of the asked mean and normal numbers of mean 0 and variance 1", () => {
    const rng = seededRng(3);
    const gaps = Array.from({ length: 50_000 }, () => exponential(rng, 2));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(0);
    expect(mean(gaps)).toBeCloseTo(2, 1);
    const normals = Array.from({ length: 50_000 }, () => standardNormal(rng));
    expect(Math.abs(mean(normals))).toBeLessThan(0.02);
    expect(mean(normals.map((value) => value * value))).toBeCloseTo(1, 1);
  });
});
