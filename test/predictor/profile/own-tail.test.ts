import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/rng.ts";
import { INPUT_COUNT } from "@tradewind/predictor/profile/inputs.ts";
import { confidence } from "@tradewind/predictor/profile/latency-profile.ts";
import { WorstContainer } from "@tradewind/predictor/profile/own-tail.ts";
import { PriorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { inputsOf, observationOf } from "@tradewind/predictor/profile/window-inputs.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { randomModel } from "./random-model.ts";

function container(id: string, cpu: number | undefined): ContainerWindow {
  const measured = { supported: true, value: 0.1 };
  const absent = { supported: false };
  return {
    id,
    cpuRequestCores: 0.5,
    cpuLimitCores: 1,
    cpuUsageCores: 0.25,
    memoryLimitBytes: 5e8,
    interference: {
      cpu: cpu === undefined ? absent : { supported: true, value: cpu },
      memoryCapacity: measured,
      memoryBandwidth: absent,
      network: measured,
    },
  };
}

const window: Window = {
  namespace: "shop",
  service: "cart",
  startMs: 0,
  endMs: 15_000,
  replicasReady: 2,
  requestsPerSecond: 100,
  ownLatency: { count: 1_500, meanSeconds: 0.01, p50Seconds: 0.008, p95Seconds: 0.03, p99Seconds: 0.05 },
  callees: [],
  containers: [container("calm", 0.1), container("disturbed", 0.7), container("calm too", 0.1)],
};

describe("worst container", () => {
  const profile = new TrainedProfile(randomModel(seededRng(2)));
  const state = { cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 };

  it("is the one on the most disturbed node, in value and in slope", () => {
    const worst = new WorstContainer(profile, window, state);
    const alone = new WorstContainer(
      profile,
      { ...window, containers: [container("disturbed", 0.7)] },
      state,
    );
    const calm = new WorstContainer(profile, { ...window, containers: [container("calm", 0.1)] }, state);
    expect(worst.ownTailSeconds(1, 5e8, 50)).toBe(alone.ownTailSeconds(1, 5e8, 50));
    expect(worst.ownTailSeconds(1, 5e8, 50)).toBeGreaterThan(calm.ownTailSeconds(1, 5e8, 50));
    const gradient = new Float64Array(INPUT_COUNT);
    const expected = new Float64Array(INPUT_COUNT);
    worst.ownTailWithGradient(1, 5e8, 50, gradient);
    profile.evaluate(Float64Array.of(1, 5e8, 50, 0.7, 0.1, Number.NaN, 0.1, 0.005, 0.01), expected);
    expect(gradient).toEqual(expected);
  });

  it.each([true, false])("is the worst of all, whichever are looked at (monotone: %s)", (monotone) => {
    const model = randomModel(seededRng(3));
    const any = new TrainedProfile({ ...model, switches: { ...model.switches, monotone } });
    const ratio = fc.option(fc.integer({ min: 0, max: 100 }).map((hundredth) => hundredth / 100));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(ratio, ratio), { minLength: 1, maxLength: 8 }),
        fc.double({ min: 0.1, max: 2, noNaN: true }),
        (disturbances, cpuCores) => {
          const containers = disturbances.map(([cpu, network], at): ContainerWindow => {
            const one = container(`c${at}`, cpu ?? undefined);
            const { interference } = one;
            if (interference === undefined || network === null) return one;
            return {
              ...one,
              interference: { ...interference, network: { supported: true, value: network } },
            };
          });
          const tailOf = (some: readonly ContainerWindow[]): number =>
            new WorstContainer(any, { ...window, containers: [...some] }, state).settle(cpuCores, 5e8, 50);
          const each = containers.map((one) => tailOf([one]));
          expect(tailOf(containers)).toBeCloseTo(Math.max(...each), 12);
        },
      ),
    );
  });

  it("answers for the size as it is with the confidence in the worst container, not in the last", () => {
    const worst = new WorstContainer(profile, window, state);
    const alone = new WorstContainer(
      profile,
      { ...window, containers: [container("disturbed", 0.7)] },
      state,
    );
    const seconds = alone.settle(1, 5e8, 50);
    expect(worst.settle(1, 5e8, 50)).toBe(seconds);
    worst.ownTailSeconds(64, 5e8, 50);
    expect(worst.ownTailSeconds(1, 5e8, 50)).toBe(seconds);
    expect(worst.lastConfidence).toBe(alone.lastConfidence);
  });

  it("of a service that has no containers is an undisturbed one", () => {
    const prior = new PriorProfile(state);
    const worst = new WorstContainer(prior, { ...window, containers: [] }, undefined);
    expect(worst.ownTailSeconds(1, 5e8, 100)).toBeCloseTo(0.02, 12);
  });

  it("remembers how little the profile could be trusted", () => {
    const worst = new WorstContainer(profile, window, state);
    worst.ownTailSeconds(1, 5e8, 50);
    const inside = worst.leastConfidence;
    worst.ownTailSeconds(64, 5e8, 50);
    expect(worst.leastConfidence).toBeLessThan(inside);
  });
});

describe("confidence", () => {
  it("is 1 for an exact verdict, a half for a factor of e, a quarter for that outside the range", () => {
    expect(confidence({ lowerSeconds: 1, upperSeconds: 1, inRange: true })).toBe(1);
    expect(confidence({ lowerSeconds: 1, upperSeconds: Math.E, inRange: true })).toBeCloseTo(0.5, 12);
    expect(confidence({ lowerSeconds: 1, upperSeconds: Math.E, inRange: false })).toBeCloseTo(0.25, 12);
  });
});

describe("inputs of a window", () => {
  it("are those of its most disturbed container, absent where not measured", () => {
    const inputs = inputsOf(window, { cpuSecondsPerRequest: 0.005, baseSeconds: 0.01 });
    expect([...inputs]).toEqual([1, 5e8, 50, 0.7, 0.1, Number.NaN, 0.1, 0.005, 0.01]);
    const bare = inputsOf({ ...window, containers: [{ id: "bare" }], requestsPerSecond: 60 }, undefined);
    expect([...bare].filter(Number.isFinite)).toEqual([30]);
  });

  it("make an observation only when load, latency, use and allocation are known", () => {
    const { interference, ...measured } = observationOf(window, 0.95)!;
    expect(measured).toEqual({
      atMs: 15_000,
      cpuCores: 1,
      cpuUsageCores: 0.25,
      loadPerContainer: 50,
      latencySeconds: 0.03,
    });
    expect(interference!.map((value) => Math.round(100 * value) / 100)).toEqual([0.3, 0.1, Number.NaN, 0.1]);
    const unwatched = { id: "unwatched", cpuLimitCores: 1, cpuUsageCores: 0.25 };
    expect(observationOf({ ...window, containers: [unwatched] }, 0.95)).not.toHaveProperty("interference");
    expect(observationOf(window, 0.99)?.latencySeconds).toBe(0.05);
    expect(observationOf({ ...window, replicasReady: 0 }, 0.95)).toBeUndefined();
    expect(observationOf({ ...window, containers: [] }, 0.95)).toBeUndefined();
  });
});
