import { mean, median, pairSlopes, quantile, scoreDeviation } from "@tradewind/core/values/statistics.ts";
import { describe, expect, it } from "vitest";

describe("statistics of a few numbers", () => {
  it("a mean adds in the order given, and is what is asked for of nothing", () => {
    expect(mean([1, 2, 6])).toBe(3);
    expect(mean([])).toBeNaN();
    expect(mean([], 0)).toBe(0);
  });

  it("a quantile lies on the line between the two order statistics beside it, and leaves its input as it is", () => {
    const values = [4, 1, 3, 2];
    expect(quantile(values, 0.5)).toBe(2.5);
    expect(quantile(values, 0.1)).toBeCloseTo(1.3, 12);
    expect([median([7]), median([])]).toEqual([7, Number.NaN]);
    expect(values).toEqual([4, 1, 3, 2]);
  });

  it("slopes between points come ascending, and one wild point does not move their median", () => {
    const times = [0, 10, 20, 30, 40];
    expect([...pairSlopes([0, 1, 3], [0, 2, 3])]).toEqual([0.5, 1, 2]);
    expect(median(pairSlopes(times, [0, 5, 10, 900, 20]))).toBeCloseTo(0.5, 12);
    expect(scoreDeviation(4)).toBeCloseTo(Math.sqrt((4 * 3 * 13) / 18), 12);
  });
});
