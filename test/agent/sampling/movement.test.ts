import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { differenceVariance, longestHold, movementOf } from "../../../agent/sampling/movement.ts";

const KINDS = ["counter", "gauge"] as const;
const GAPS = [1, 15, 2, 15, 15, 30, 1, 60];

/** Means of {@link movementOf} and of the squared differences over a signal with this noise and diffusion, read at uneven gaps. */
function estimate(
  kind: "counter" | "gauge",
  noise: number,
  diffusion: number,
): { noise: number; diffusion: number } {
  const rng = seededRng(11);
  const steps = 20;
  let level = 0;
  const readings = Array.from({ length: 24_000 }, (_, index) => {
    const gap = GAPS[index % GAPS.length] ?? 1;
    let sum = 0;
    for (let step = 0; step < steps; step += 1) {
      level += Math.sqrt((diffusion * gap) / steps) * standardNormal(rng);
      sum += level / steps;
    }
    const own = kind === "gauge" ? level : sum;
    const spread = kind === "gauge" ? Math.sqrt(noise) : Math.sqrt(noise / gap);
    return { gap, value: own + spread * standardNormal(rng) };
  });
  let count = 0;
  const sums = { noise: 0, diffusion: 0 };
  for (let index = 2; index < readings.length; index += 1) {
    const [first, second, third] = readings.slice(index - 2, index + 1);
    if (first === undefined || second === undefined || third === undefined) continue;
    if (second.gap < 15 || third.gap < 15) continue;
    const pair = movementOf(
      kind,
      third.value - second.value,
      second.value - first.value,
      third.gap,
      second.gap,
    );
    sums.noise += pair.noise;
    sums.diffusion += pair.diffusion;
    count += 1;
  }
  return { noise: sums.noise / count, diffusion: sums.diffusion / count };
}

describe("movementOf", () => {
  it.each(KINDS)("finds the noise of a %s that only has noise, and no diffusion", (kind) => {
    const found = estimate(kind, 0.04, 0);
    expect(found.noise).toBeCloseTo(0.04, 2);
    expect(Math.abs(found.diffusion)).toBeLessThan(kind === "gauge" ? 1e-4 : 1e-5);
  });

  it.each(KINDS)("finds the diffusion of a %s that only diffuses, and next to no noise", (kind) => {
    const found = estimate(kind, 0, 1e-3);
    expect(found.diffusion / 1e-3).toBeCloseTo(1, 1);
    expect(Math.abs(found.noise)).toBeLessThan(kind === "gauge" ? 1e-3 : 2e-2);
  });

  it.each(KINDS)("tells a step of the signal's own level from noise by its sign, for a %s", (kind) => {
    const agreeing = movementOf(kind, 0.1, 0.1, 15, 15);
    const opposing = movementOf(kind, 0.1, -0.1, 15, 15);
    expect(agreeing.diffusion).toBeGreaterThan(0);
    expect(opposing.diffusion).toBeLessThanOrEqual(0);
    expect(opposing.noise).toBeGreaterThan(agreeing.noise);
  });
});

describe("differenceVariance", () => {
  it.each([
    { kind: "counter", noise: 0.01, diffusion: 0, variance: 0.01 / 5 + 0.01 / 10 },
    { kind: "counter", noise: 0, diffusion: 0.003, variance: 0.015 },
    { kind: "gauge", noise: 0.01, diffusion: 0.003, variance: 0.02 + 0.015 },
  ] as const)(
    "of a $kind with noise $noise and diffusion $diffusion is $variance after gaps of 10 and 5 s",
    (each) => {
      expect(differenceVariance(each, 5, 10)).toBeCloseTo(each.variance, 12);
    },
  );
});

describe("longestHold", () => {
  it.each(KINDS)("of a %s ends where the error of an unread window has the variance given", (kind) => {
    const movement = { kind, noise: 0.001, diffusion: 1e-5 };
    const seconds = longestHold(movement, 0.003, 15);
    const error =
      kind === "gauge" ? 0.002 + 1e-5 * seconds : 0.001 * (1 / 15 + 1 / seconds) + (2 / 3) * 1e-5 * seconds;
    expect(error).toBeCloseTo(0.003, 9);
  });

  it("is 0 where noise alone exceeds the variance, and has no end for a signal that never moves", () => {
    expect(longestHold({ kind: "counter", noise: 1, diffusion: 1e-5 }, 0.01, 15)).toBe(0);
    expect(longestHold({ kind: "gauge", noise: 1, diffusion: 1e-5 }, 0.01, 15)).toBe(0);
    expect(longestHold({ kind: "counter", noise: 0, diffusion: Number.MIN_VALUE }, 0.01, 15)).toBe(Infinity);
  });
});
