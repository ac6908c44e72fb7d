import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import {
  emptyExpectation,
  expect as expectLinear,
  takeIn,
} from "@tradewind/predictor/models/queue/kalman.ts";
import type { Estimate } from "@tradewind/predictor/models/queue/kalman.ts";
import { describe, expect, it } from "vitest";

const estimateOf = (mean: readonly number[], variances: readonly number[]): Estimate => ({
  mean: Float64Array.from(mean),
  covariance: Float64Array.from(
    variances.flatMap((variance, i) => variances.map((_, j) => (i === j ? variance : 0))),
  ),
});

function measure(estimate: Estimate, measured: number, gradient: readonly number[], noise: number): number {
  const expected = emptyExpectation(gradient.length);
  const value = gradient.reduce((sum, slope, i) => sum + slope * (estimate.mean[i] ?? 0), 0);
  expectLinear(estimate.covariance, value, gradient, expected);
  return takeIn(estimate, measured, expected, noise);
}

describe("Kalman update", () => {
  it("hand-worked: a measurement as uncertain as the estimate moves it half-way and halves its variance", () => {
    const estimate = estimateOf([0, 5], [1, 1]);
    measure(estimate, 1, [1, 0], 1);
    expect([...estimate.mean]).toEqual([0.5, 5]);
    expect([...estimate.covariance]).toEqual([0.5, 0, 0, 1]);
  });

  it("hand-worked: leaves a kept parameter as it is, and lets its uncertainty count", () => {
    const estimate = estimateOf([2, 5], [1, 1]);
    const expected = emptyExpectation(2);
    expectLinear(estimate.covariance, 7, [1, 1], expected);
    takeIn(estimate, 8, expected, 1, new Set([0]));
    // Of the innovation of 1 a third goes to the second: 1 / (1 + 1 + 1). The first keeps its value and variance, not its covariance.
    expect([...estimate.mean]).toEqual([2, 5 + 1 / 3]);
    expect([...estimate.covariance]).toEqual([1, -1 / 3, -1 / 3, 1 - 1 / 3]);
  });

  it("finds the mean of many measurements with the variance of a mean", () => {
    const estimate = estimateOf([0], [1e6]);
    const rng = seededRng(1);
    for (let i = 0; i < 400; i += 1) measure(estimate, 3 + standardNormal(rng), [1], 1);
    expect(estimate.mean[0]).toBeCloseTo(3, 0);
    expect((estimate.covariance[0] ?? 0) * 400).toBeGreaterThan(0.9);
    expect((estimate.covariance[0] ?? 0) * 400).toBeLessThan(1.3);
  });

  it("is moved no further by a measurement a hundred standard deviations away than by one at Huber's bound", () => {
    const [near, far] = [estimateOf([0], [1]), estimateOf([0], [1])];
    measure(near, 1.345 * Math.SQRT2, [1], 1);
    measure(far, 100 * Math.SQRT2, [1], 1);
    expect(far.mean[0]).toBeCloseTo(near.mean[0] ?? 0, 12);
    expect(far.covariance[0]).toBeGreaterThan(near.covariance[0] ?? 0);
  });

  it("finds a near measurement likelier than a far one", () => {
    expect(measure(estimateOf([0], [1]), 0.1, [1], 1)).toBeGreaterThan(
      measure(estimateOf([0], [1]), 3, [1], 1),
    );
  });
});
