import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { LevelMixture } from "../../bench/profile/level-mixture.ts";
import { askRules, LOOKED_BACK } from "../../bench/profile/level-rules.ts";
import type { LevelPoint } from "../../bench/profile/level-rules.ts";

/** Windows in which the p95 follows the load by a power, with some noise. */
function windows(count: number, power: number, noise: number, seed: number): LevelPoint[] {
  const rng = seededRng(seed);
  return Array.from({ length: count }, () => {
    const load = 3 + rng();
    return { load, time: power * load - 5 + noise * standardNormal(rng) };
  });
}

describe("rules of one line", () => {
  it("know nothing before the first window", () => {
    expect(Object.values(askRules([], 1)).every(Number.isNaN)).toBe(true);
  });

  it("all say the same of a p95 that is always the same", () => {
    const points = Array.from({ length: 30 }, (_, i) => ({ load: 2 + (i % 5) / 5, time: -3 }));
    for (const said of Object.values(askRules(points, 2.4))) expect(said).toBeCloseTo(-3, 9);
  });

  it("follow the load, where it is the load: kernel and line, and not the last value", () => {
    const points = windows(200, 2, 0.01, 1);
    const truth = 2 * 3.2 - 5;
    const { kernel, lastValue, logLinear } = askRules(points, 3.2);
    expect(Math.abs(kernel - truth)).toBeLessThan(0.1);
    // The line is held back by its belief that load does nothing.
    expect(Math.abs(logLinear - truth)).toBeLessThan(0.15);
    expect(lastValue).toBe(points.at(-1)?.time);
  });

  it("stay finite far from every load that was seen", () => {
    for (const said of Object.values(askRules(windows(50, 1, 0.1, 2), 40)))
      expect(Number.isFinite(said)).toBe(true);
  });

  it("forget what is older than they look back on", () => {
    const old = windows(100, 5, 1, 3);
    const recent = windows(LOOKED_BACK, 1, 0.1, 4);
    expect(askRules([...old, ...recent], 3.5)).toEqual(askRules(recent, 3.5));
  });
});

describe("the mixture of levels", () => {
  const learnt = (mixture: LevelMixture, rounds: number, best: number, rng: () => number): number => {
    let error = 0;
    for (let i = 0; i < rounds; i += 1) {
      const actual = standardNormal(rng);
      const forecasts = [0, 1, 2].map((at) => actual + (at === best ? 0.05 : 0.5) * standardNormal(rng));
      const mixed = mixture.mix(forecasts);
      error += Math.abs(mixed - actual) / rounds;
      mixture.learn(forecasts, actual);
    }
    return error;
  };

  it("comes to the forecast that errs least, and to another one once that errs less", () => {
    const rng = seededRng(5);
    const mixture = new LevelMixture(3);
    learnt(mixture, 60, 1, rng);
    expect(learnt(mixture, 200, 1, rng)).toBeLessThan(0.06);
    learnt(mixture, 300, 2, rng);
    expect(learnt(mixture, 200, 2, rng)).toBeLessThan(0.06);
  });

  it("begins with all alike, and has shares that add up to 1", () => {
    const mixture = new LevelMixture(4);
    expect(mixture.weights).toEqual([0.25, 0.25, 0.25, 0.25]);
    mixture.learn([1, 2, 3, 4], 1.5);
    expect(mixture.weights.reduce((sum, each) => sum + each, 0)).toBeCloseTo(1, 12);
  });

  it("is moved by none that is far off", () => {
    expect(new LevelMixture(3).mix([1, 1.1, 1e9])).toBeCloseTo(1.1, 12);
  });
});
