import fc from "fast-check";
import { seededRng } from "@tradewind/core/rng.ts";
import { INPUT_COUNT, INPUT_DIRECTIONS } from "@tradewind/predictor/profile/inputs.ts";
import { ALL_ON } from "@tradewind/predictor/profile/model.ts";
import { PriorProfile } from "@tradewind/predictor/profile/prior-profile.ts";
import { TrainedProfile } from "@tradewind/predictor/profile/trained-profile.ts";
import { describe, expect, it } from "vitest";
import { randomInput, randomModel } from "./random-model.ts";

const seeds = fc.integer({ min: 1, max: 1e9 });

function profiles(seed: number): (TrainedProfile | PriorProfile)[] {
  const rng = seededRng(seed);
  return [
    new TrainedProfile(randomModel(rng)),
    new TrainedProfile(randomModel(rng, { ...ALL_ON, prior: false })),
    new PriorProfile({ cpuSecondsPerRequest: 0.004, baseSeconds: 0.01 }),
  ];
}

describe("a monotone profile", () => {
  it("never has a slope of the wrong sign, whatever its weights", () => {
    fc.assert(
      fc.property(seeds, (seed) => {
        const rng = seededRng(seed);
        const gradient = new Float64Array(INPUT_COUNT);
        for (const profile of profiles(seed)) {
          profile.evaluate(randomInput(rng), gradient);
          for (const [i, slope] of gradient.entries()) {
            expect(slope * INPUT_DIRECTIONS[i]!).toBeGreaterThanOrEqual(0);
          }
        }
      }),
    );
  });

  it("moves the promised way between any two points along one input, also outside what it has seen", () => {
    fc.assert(
      fc.property(
        seeds,
        fc.integer({ min: 0, max: INPUT_COUNT - 1 }),
        fc.double({ min: 1.0001, max: 50, noNaN: true }),
        (seed, i, factor) => {
          const low = randomInput(seededRng(seed));
          const high = low.slice();
          high[i] = high[i]! * factor;
          for (const profile of profiles(seed)) {
            const change = profile.evaluate(high) - profile.evaluate(low);
            expect(change * INPUT_DIRECTIONS[i]!).toBeGreaterThanOrEqual(-1e-12);
          }
        },
      ),
    );
  });

  it("can bend the wrong way when the signs are not held", () => {
    const gradient = new Float64Array(INPUT_COUNT);
    const wrong = Array.from({ length: 50 }, (_, seed) => {
      const rng = seededRng(seed);
      new TrainedProfile(randomModel(rng, { ...ALL_ON, monotone: false })).evaluate(
        randomInput(rng),
        gradient,
      );
      return gradient.some((slope, i) => slope * INPUT_DIRECTIONS[i]! < 0);
    });
    expect(wrong).toContain(true);
  });
});

describe("any profile", () => {
  it("gives finite positive numbers for every input, also absent and absurd ones", () => {
    const anything = fc.oneof(
      fc.double(),
      fc.constantFrom(Number.NaN, Infinity, -Infinity, 0, -1, 1e300, 5e-324),
    );
    const gradient = new Float64Array(INPUT_COUNT);
    fc.assert(
      fc.property(
        seeds,
        fc.array(anything, { minLength: INPUT_COUNT, maxLength: INPUT_COUNT }),
        (seed, values) => {
          for (const profile of profiles(seed)) {
            const value = profile.evaluate(Float64Array.from(values), gradient);
            expect(value).toBeGreaterThan(0);
            const { lowerSeconds, upperSeconds } = profile.verdict;
            for (const number of [value, lowerSeconds, upperSeconds, ...gradient])
              expect(number).toSatisfy(Number.isFinite);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it("says so when an input lies outside what it has seen", () => {
    const profile = new TrainedProfile(randomModel(seededRng(3)));
    const input = randomInput(seededRng(4));
    profile.evaluate(input);
    expect(profile.verdict.inRange).toBe(true);
    input[2] = 4_000;
    profile.evaluate(input);
    expect(profile.verdict.inRange).toBe(false);
  });

  it("takes an absent interference component as neutral and says so", () => {
    const profile = new TrainedProfile(randomModel(seededRng(3)));
    const input = randomInput(seededRng(4));
    const neutral = input.slice();
    neutral[3] = profile.model.spans[3]!.neutral;
    const expected = profile.evaluate(neutral);
    input[3] = Number.NaN;
    expect(profile.evaluate(input)).toBe(expected);
    expect(profile.verdict.inRange).toBe(false);
    const unsupported = neutral.slice();
    unsupported[5] = Number.NaN;
    profile.evaluate(unsupported);
    expect(profile.verdict.inRange).toBe(true);
  });
});
