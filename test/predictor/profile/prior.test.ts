import fc from "fast-check";
import { INPUT_COUNT } from "@tradewind/predictor/profile/inputs.ts";
import { priorProfile, PriorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { estimatePriorWeight } from "@tradewind/predictor/profile/prior-weight.ts";
import {
  logStretchSlope,
  shownLogStretch,
  shownLogStretchSlope,
  stretch,
  utilisation,
} from "@tradewind/predictor/profile/prior.ts";
import { cpuSecondsPerRequest, estimateState } from "@tradewind/predictor/profile/service-state.ts";
import type { Observation } from "@tradewind/predictor/profile/service-state.ts";
import { seededRng, standardNormal } from "@tradewind/core/rng.ts";
import { describe, expect, it } from "vitest";

/** A service of 4 ms CPU and 12 ms calm p95 on half a core, at one load. */
function window(loadPerContainer: number, noise = 1): Observation {
  const used = (loadPerContainer * 0.004) / 0.5;
  return {
    atMs: 0,
    cpuCores: 0.5,
    cpuUsageCores: 0.5 * used,
    loadPerContainer,
    latencySeconds: 0.012 * stretch(used) * noise,
  };
}

describe("stretch", () => {
  it.each([
    [0, 1],
    [0.5, 2],
    [0.8, 5],
    [0.95, 20],
    [1, 40],
    [1.95, 420],
  ])("at utilisation %d is %d", (u, expected) => {
    expect(stretch(u)).toBeCloseTo(expected, 9);
  });

  it("is finite, rising and smooth through saturation", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 100, noNaN: true }), (u) => {
        const step = 1e-6;
        const slope = (Math.log(stretch(u + step)) - Math.log(stretch(u))) / step;
        expect(slope).toBeGreaterThan(0);
        expect(slope / logStretchSlope(u)).toBeCloseTo(1, 3);
      }),
    );
  });
});

describe("ln stretch as windows show it", () => {
  it("is ln stretch up to saturation and a quarter of what that gains past it", () => {
    expect(shownLogStretch(0.5)).toBeCloseTo(Math.log(2), 12);
    expect(shownLogStretch(0.95)).toBeCloseTo(Math.log(20), 12);
    // stretch(1.95) = 420 = 20 · 21
    expect(shownLogStretch(1.95)).toBeCloseTo(Math.log(20) + Math.log(21) / 4, 12);
  });

  it("rises everywhere, by its slope", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 100, noNaN: true }), (u) => {
        fc.pre(Math.abs(u - 0.95) > 1e-5);
        const step = 1e-6;
        const slope = (shownLogStretch(u + step) - shownLogStretch(u)) / step;
        expect(slope).toBeGreaterThan(0);
        expect(slope / shownLogStretchSlope(u)).toBeCloseTo(1, 3);
      }),
    );
  });
});

describe("utilisation law", () => {
  it("40 requests a second of 5 ms CPU use 0.2 cores: 0.4 of half a core", () => {
    expect(utilisation(40, 0.005, 0.5)).toBeCloseTo(0.4, 12);
  });

  it("finds CPU seconds per request among idle and disturbed windows", () => {
    const disturbed: Observation = { ...window(50), cpuUsageCores: 5 };
    const idle: Observation = { ...window(0.01), cpuUsageCores: 0.02 };
    const observations = [window(30), disturbed, window(50), idle, window(70), window(90), idle];
    expect(cpuSecondsPerRequest(observations)).toBeCloseTo(0.004, 12);
  });

  it("says nothing without load", () => {
    expect(cpuSecondsPerRequest([window(0), window(0.05), window(0)])).toBeUndefined();
  });
});

describe("prior profile", () => {
  it("predicts 24 ms at half utilisation for a service of 12 ms calm latency", () => {
    const profile = priorProfile([20, 30, 40, 50, 60].map((load) => window(load)))!;
    expect(profile.state.cpuSecondsPerRequest).toBeCloseTo(0.004, 12);
    expect(profile.state.baseSeconds).toBeCloseTo(0.012, 12);
    const input = new Float64Array(INPUT_COUNT).fill(Number.NaN);
    input[0] = 0.5;
    input[2] = 62.5;
    const gradient = new Float64Array(INPUT_COUNT);
    expect(profile.evaluate(input, gradient)).toBeCloseTo(0.024, 12);
    // d(b/(1 - rs/c))/dr = b (s/c) / (1 - u)^2 = 0.012 * 0.008 / 0.25
    expect(gradient[2]).toBeCloseTo(0.000384, 12);
    // -d/dc = b u / c / (1 - u)^2 = 0.012 * 0.5 / 0.5 / 0.25
    expect(gradient[0]).toBeCloseTo(-0.048, 12);
    input[0] = 1;
    expect(profile.evaluate(input)).toBeCloseTo(0.016, 12);
  });

  it("is robust: noise of 20 % and a fifth of wild windows move it by less than a tenth", () => {
    const rng = seededRng(7);
    const observations = Array.from({ length: 60 }, (_, i) => {
      const noisy = window(10 + rng() * 80, Math.exp(0.2 * standardNormal(rng)));
      return i % 5 === 0 ? { ...noisy, latencySeconds: 2, cpuUsageCores: 4 } : noisy;
    });
    const { state } = priorProfile(observations)!;
    expect(Math.abs(state.cpuSecondsPerRequest / 0.004 - 1)).toBeLessThan(0.1);
    expect(Math.abs(state.baseSeconds / 0.012 - 1)).toBeLessThan(0.1);
  });

  it("needs three windows", () => {
    expect(priorProfile([window(20), window(30)])).toBeUndefined();
    expect(estimateState([], 1)).toBeUndefined();
  });

  it("follows the state in the input rather than the one it was made with", () => {
    const profile = new PriorProfile({ cpuSecondsPerRequest: 1, baseSeconds: 1 });
    const input = Float64Array.of(0.5, Number.NaN, 62.5, 0, 0, 0, 0, 0.004, 0.012);
    expect(profile.evaluate(input)).toBeCloseTo(0.024, 12);
  });

  it("takes its interval from the windows once there are twenty", () => {
    const rng = seededRng(11);
    const profile = priorProfile(
      Array.from({ length: 200 }, () => window(20 + 70 * rng(), Math.exp(0.1 * standardNormal(rng)))),
    )!;
    const value = profile.evaluate(Float64Array.of(0.5, 0, 50, 0, 0, 0, 0, Number.NaN, Number.NaN));
    // 5th and 95th percentile of the noise: e^(±1.645 * 0.1)
    expect(profile.verdict.upperSeconds / value).toBeCloseTo(1.18, 1);
    expect(profile.verdict.lowerSeconds / value).toBeCloseTo(0.85, 1);
  });
});

describe("prior weight", () => {
  const loads = Array.from({ length: 100 }, (_, i) => 5 + i);
  it("is 1 for a processor-sharing service and 0 for one that load does not touch", () => {
    expect(estimatePriorWeight(loads.map((load) => window(load)))).toBeCloseTo(1, 6);
    const flat = loads.map((load) => window(load, 1 / stretch((load * 0.004) / 0.5)));
    expect(estimatePriorWeight(flat)).toBeCloseTo(20 / 120, 6);
  });

  it("stays at 1 while windows are few or load is constant", () => {
    expect(estimatePriorWeight([])).toBe(1);
    expect(estimatePriorWeight(Array.from({ length: 50 }, () => window(50)))).toBe(1);
  });
});
