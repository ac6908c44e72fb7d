import { calibrate, trackInterval } from "@tradewind/predictor/profile/interval.ts";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { describe, expect, it } from "vitest";

const inside = (score: number, { low, high }: { low: number; high: number }): boolean =>
  score >= low && score <= high;

describe("split conformal calibration", () => {
  it("of 1 to 39 both ways takes the second from each end: rank 38 of 40", () => {
    const scores = Array.from({ length: 39 }, (_, i) => i - 19);
    // ceil(0.95 * 40) = 38, the second largest and second smallest
    expect(calibrate(scores)).toEqual({ low: -18, high: 18 });
  });

  it("covers nine in ten of new values whatever their distribution", () => {
    const rng = seededRng(5);
    const draws = [
      (): number => standardNormal(rng),
      (): number => Math.exp(standardNormal(rng)) - 1.2,
      (): number => rng() - 0.3,
    ];
    for (const draw of draws) {
      let hits = 0;
      for (let trial = 0; trial < 200; trial += 1) {
        const scale = calibrate(Array.from({ length: 100 }, draw));
        for (let i = 0; i < 20; i += 1) if (inside(draw(), scale)) hits += 1;
      }
      expect(hits / 4_000).toBeGreaterThan(0.88);
      expect(hits / 4_000).toBeLessThan(0.935);
    }
  });

  it("falls back to a factor of e with nothing to go by, and ignores what is not a number", () => {
    expect(calibrate([])).toEqual({ low: -1, high: 1 });
    expect(calibrate([Number.NaN, Infinity])).toEqual({ low: -1, high: 1 });
  });
});

describe("interval that follows what is measured", () => {
  it("regains its coverage after the errors have doubled", () => {
    const rng = seededRng(8);
    let scale = calibrate(Array.from({ length: 500 }, () => standardNormal(rng)));
    let hits = 0;
    for (let i = 0; i < 4_000; i += 1) {
      const score = 0.5 + 2 * standardNormal(rng);
      if (i >= 1_000 && inside(score, scale)) hits += 1;
      scale = trackInterval(scale, score);
    }
    expect(hits / 3_000).toBeGreaterThan(0.88);
    expect(hits / 3_000).toBeLessThan(0.92);
  });

  it("is not moved by a value that is not a number", () => {
    const scale = { low: -1, high: 1 };
    expect(trackInterval(scale, Number.NaN)).toBe(scale);
  });
});
