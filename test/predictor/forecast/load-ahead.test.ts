import { seededRng } from "@tradewind/core/values/rng.ts";
import { Ahead } from "@tradewind/predictor/forecast/load-ahead.ts";
import { Mixture } from "@tradewind/predictor/forecast/mixture.ts";
import { Recent } from "@tradewind/predictor/forecast/recent.ts";
import { Regression } from "@tradewind/predictor/forecast/regression.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

function after(loads: readonly (number | null)[], ahead: number, season?: number): Ahead {
  const made = new Ahead(ahead, season);
  for (const load of loads) made.add(load);
  return made;
}
const of = (count: number, load: (at: number) => number): number[] =>
  Array.from({ length: count }, (_, at) => load(at));

describe("load a number of steps ahead", () => {
  it("is the last load after one step", () => {
    expect(after([7], 5).served).toMatchObject({ low: 7, middle: 7, high: 7 });
    expect(after([], 5).served).toBeUndefined();
  });

  it("is learnt to go on as a ramp does", () => {
    const { errors, served } = after(
      of(200, (at) => 50 + at),
      5,
    );
    expect(served?.weights.regression).toBeGreaterThan(0.9);
    expect(served?.middle).toBeCloseTo(254, 0);
    // Repeating the last load has 5.
    expect(errors?.mase).toBeLessThan(2.5);
  });

  it("is the season's, a season after", () => {
    const wave = (at: number): number => 60 - 40 * Math.cos((2 * Math.PI * at) / 40);
    const { errors, served } = after(of(200, wave), 5, 40);
    expect(served?.middle).toBeCloseTo(wave(204), 0);
    expect(errors?.coverage).toBeGreaterThan(0.7);
  });

  it("is the mean where steps are chance about it, with eight of ten loads between low and high", () => {
    const rng = seededRng(3);
    const made = after(
      of(600, () => 50 + 20 * rng()),
      5,
    );
    expect(made.served?.weights.naive).toBeLessThan(0.1);
    expect(made.served?.middle).toBeGreaterThan(55);
    expect(made.served?.middle).toBeLessThan(65);
    expect(made.errors?.coverage).toBeCloseTo(0.8, 1);
  });

  it("is finite and in order whatever the loads", () => {
    const load = fc.option(fc.double({ min: 0, max: 1e6, noNaN: true }), { nil: null });
    fc.assert(
      fc.property(
        fc.array(load, { minLength: 1, maxLength: 80 }),
        fc.integer({ min: 1, max: 25 }),
        (loads, ahead) => {
          const { high, low, middle } = after(loads, ahead, 10).served!;
          expect(low).toBeGreaterThanOrEqual(0);
          expect(low).toBeLessThanOrEqual(middle);
          expect(middle).toBeLessThanOrEqual(high);
          expect(high).toSatisfy(Number.isFinite);
        },
      ),
    );
  });
});

describe("a mixture of forecasts", () => {
  const methods = (at: number): number[] => [10 + Math.sin(at), 10 - Math.sin(at), 30];
  const lossOf = (actual: (at: number) => number): { mixed: number; each: number[] } => {
    const mixture = new Mixture(3);
    let mixed = 0;
    const each = [0, 0, 0];
    for (let at = 0; at < 500; at += 1) {
      const said = methods(at);
      const middle = said.reduce((sum, one, place) => sum + one * mixture.weights[place]!, 0);
      const now = actual(at);
      mixed += Math.abs(middle - now);
      for (const [place, one] of said.entries()) each[place]! += Math.abs(one - now);
      mixture.learn(said, middle, now);
    }
    return { mixed, each };
  };

  it("begins with equal weights, which are shares of one", () => {
    expect(new Mixture(4).weights).toEqual([0.25, 0.25, 0.25, 0.25]);
  });

  it("does as well as the best of them where one is always right", () => {
    const { each, mixed } = lossOf((at) => 10 + Math.sin(at));
    expect(each[0]).toBeCloseTo(0, 9);
    expect(mixed).toBeLessThan(0.1 * each[1]!);
  });

  it("is better than each of them where their errors cancel out", () => {
    const { each, mixed } = lossOf(() => 10);
    expect(mixed).toBeLessThan(0.2 * Math.min(...each));
  });

  it("has the same weights in any unit", () => {
    const [one, thousand] = [new Mixture(3), new Mixture(3)];
    for (let at = 0; at < 50; at += 1) {
      one.learn(methods(at), 12, 11);
      thousand.learn(
        methods(at).map((each) => 1e3 * each),
        12e3,
        11e3,
      );
    }
    for (const [at, weight] of one.weights.entries()) expect(thousand.weights[at]).toBeCloseTo(weight, 9);
  });
});

describe("the last numbers", () => {
  it("have the mean and the quantiles of the newest, whatever came before", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -99, max: 99 }), { minLength: 1 }), (values) => {
        const recent = new Recent(10);
        for (const value of values) recent.add(value);
        const kept = values.slice(-10);
        expect(recent.mean).toBeCloseTo(kept.reduce((sum, each) => sum + each, 0) / kept.length, 9);
        expect(recent.quantiles([0, 1])).toEqual([Math.min(...kept), Math.max(...kept)]);
      }),
    );
  });
});

describe("a regression", () => {
  it("finds the weights that made its examples", () => {
    const rng = seededRng(1);
    const regression = new Regression(2);
    for (let at = 0; at < 400; at += 1) {
      const inputs = [rng(), rng()];
      regression.learn(inputs, 2 * inputs[0]! - 3 * inputs[1]!);
    }
    expect(regression.predict([1, 1])).toBeCloseTo(-1, 1);
  });
});
