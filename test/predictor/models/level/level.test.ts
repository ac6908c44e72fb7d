import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import {
  emptyMixture,
  mixed,
  mixtureAfter,
  sharesOf,
} from "@tradewind/predictor/models/level/level-mixture.ts";
import type { MixtureState } from "@tradewind/predictor/models/level/level-mixture.ts";
import { askRules, LOOKED_BACK } from "@tradewind/predictor/models/level/level-rules.ts";
import type { LevelPoint } from "@tradewind/predictor/models/level/level-rules.ts";

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
  const learnt = (
    before: MixtureState,
    rounds: number,
    best: number,
    rng: () => number,
  ): { readonly mixture: MixtureState; readonly error: number } => {
    let mixture = before;
    let error = 0;
    for (let i = 0; i < rounds; i += 1) {
      const actual = standardNormal(rng);
      const forecasts = [0, 1, 2].map((at) => actual + (at === best ? 0.05 : 0.5) * standardNormal(rng));
      error += Math.abs(mixed(mixture, forecasts) - actual) / rounds;
      mixture = mixtureAfter(mixture, forecasts, actual);
    }
    return { mixture, error };
  };

  it("comes to the forecast that errs least, and to another one once that errs less", () => {
    const rng = seededRng(5);
    const first = learnt(learnt(emptyMixture(3), 60, 1, rng).mixture, 200, 1, rng);
    expect(first.error).toBeLessThan(0.06);
    expect(learnt(learnt(first.mixture, 300, 2, rng).mixture, 200, 2, rng).error).toBeLessThan(0.06);
  });

  it("begins with all alike, and has shares that add up to 1", () => {
    const mixture = emptyMixture(4);
    expect(sharesOf(mixture)).toEqual([0.25, 0.25, 0.25, 0.25]);
    const shares = sharesOf(mixtureAfter(mixture, [1, 2, 3, 4], 1.5));
    expect(shares.reduce((sum, share) => sum + share, 0)).toBeCloseTo(1, 12);
  });

  it("is moved by none that is far off", () => {
    expect(mixed(emptyMixture(3), [1, 1.1, 1e9])).toBeCloseTo(1.1, 12);
  });
});
