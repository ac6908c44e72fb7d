import { describe, expect, it } from "vitest";
import { flashCrowd, ramp, replay, steady, wave } from "../../../simulator/model/load.ts";

describe("load", () => {
  it("a wave begins low, is high after half a period and low again after a whole one", () => {
    const load = wave(40, 240, 1_800);
    expect([0, 450, 900, 1_800].map((second) => Math.round(load(second)))).toEqual([40, 140, 240, 40]);
  });

  it("a flash crowd rises, holds and falls", () => {
    const load = flashCrowd({ base: 60, peak: 300, startSeconds: 600, riseSeconds: 30, holdSeconds: 600 });
    expect([599, 615, 630, 1_230, 1_245, 1_260, 2_000].map(load)).toEqual([60, 180, 300, 300, 180, 60, 60]);
  });

  it("a ramp holds before and after", () => {
    const load = ramp(10, 30, 100, 200);
    expect([0, 100, 150, 200, 999].map(load)).toEqual([10, 10, 20, 30, 30]);
  });

  it("a replay takes one value for each step and ends", () => {
    const load = replay([5, 7], 10);
    expect([0, 9.9, 10, 20].map(load)).toEqual([5, 5, 7, 0]);
    expect(steady(3)(1e9)).toBe(3);
  });
});
