import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { momentsOverTail, tailOfMoments } from "@tradewind/predictor/endtoend/lognormal.ts";
import type { Tail } from "@tradewind/predictor/endtoend/lognormal.ts";

function tailOf(mean: number, variance: number): Tail {
  const out = { seconds: 0, byMean: 0, byVariance: 0 };
  tailOfMoments(mean, variance, out);
  return out;
}

describe("a log-normal time", () => {
  it("has the moments that its mean over tail tells", () => {
    // σ = 0.5: mean e^0.125, tail e^0.82243, deviation mean·√(e^0.25 − 1).
    const mean = Math.exp(0.125 - 0.822_426_813);
    const moments = momentsOverTail(mean);
    expect(moments.mean).toBeCloseTo(mean, 12);
    expect(moments.deviation).toBeCloseTo(mean * Math.sqrt(Math.exp(0.25) - 1), 6);
  });

  it("has no spread where its mean is its tail", () => {
    expect(momentsOverTail(1)).toEqual({ mean: 1, deviation: 0, spikeMean: 0, spikeDeviation: 0 });
  });

  it("keeps a mean above the tail as that of spikes on one call in forty", () => {
    // Of 40 calls one takes 20 more: mean 0.5, variance 39/40 · 1/40 · 20² = 9.75.
    const { deviation, mean, spikeDeviation, spikeMean } = momentsOverTail(1.5);
    expect([mean, deviation, spikeMean]).toEqual([1, 0, 0.5]);
    expect(spikeDeviation).toBeCloseTo(Math.sqrt(9.75), 12);
  });

  it("keeps a mean far below the tail, with the spread of a time that is 0 or the tail", () => {
    const { deviation, mean } = momentsOverTail(0.1);
    expect(mean).toBe(0.1);
    expect(deviation).toBeCloseTo(Math.sqrt(0.1 * 0.9), 12);
    // At 0.3 it is hardly another one than that of a log-normal time.
    expect(Math.abs(momentsOverTail(0.305).deviation - momentsOverTail(0.295).deviation)).toBeLessThan(0.01);
  });

  it("gives back the tail from its moments", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.31, max: 0.999, noNaN: true }),
        fc.double({ min: 1e-4, max: 1e3, noNaN: true }),
        (share, seconds) => {
          const { deviation, mean } = momentsOverTail(share);
          expect(tailOf(mean * seconds, (deviation * seconds) ** 2).seconds / seconds).toBeCloseTo(1, 6);
        },
      ),
    );
  });

  it("has the slopes of its tail, which are never negative", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 10, noNaN: true }),
        fc.double({ min: 0.05, max: 6, noNaN: true }),
        (mean, overMean) => {
          const variance = (overMean * mean) ** 2;
          const { byMean, byVariance } = tailOf(mean, variance);
          const slope = (at: (h: number) => number, h: number): number => (at(h) - at(-h)) / (2 * h);
          const wantedByMean = slope((h) => tailOf(mean + h, variance).seconds, 1e-6 * mean);
          const wantedByVariance = slope((h) => tailOf(mean, variance + h).seconds, 1e-6 * variance);
          fc.pre(Math.abs(Math.log1p(overMean ** 2) - 1.644_853_627 ** 2) > 1e-3);
          expect(byMean).toBeCloseTo(wantedByMean, 5);
          expect(byVariance * variance).toBeCloseTo(wantedByVariance * variance, 5);
          expect(byMean).toBeGreaterThanOrEqual(0);
          expect(byVariance).toBeGreaterThanOrEqual(0);
        },
      ),
    );
  });

  it("has a tail of nothing, and finite slopes, where it takes no time or varies not at all", () => {
    expect(tailOf(0, 0)).toEqual({ seconds: 0, byMean: 1, byVariance: 0 });
    const certain = tailOf(0.2, 0);
    expect(certain.seconds).toBeCloseTo(0.2, 6);
    expect(Number.isFinite(certain.byVariance)).toBe(true);
    expect(certain.byMean).toBeCloseTo(1, 6);
  });
});
