import { describe, expect, it } from "vitest";
import { countedArrivalRatio } from "@tradewind/predictor/decide/cost/learn/cost-window.ts";
import { observe } from "@tradewind/predictor/decide/facts/observation.ts";
import { inputs, window, windowSet } from "../measurements.ts";

describe("arrivals that were counted", () => {
  const ratio = (beganPerSecond: number | undefined, answered = 50): number | undefined => {
    const set = windowSet([window({ service: "frontend", replicas: 1, rate: 50 })]);
    if (beganPerSecond !== undefined) set.windows[0]!.beganPerSecond = beganPerSecond;
    return countedArrivalRatio(observe(inputs(set))[0]?.window?.beganPerSecond, answered);
  };

  it("are taken over what was answered", () => {
    expect(ratio(60)).toBeCloseTo(1.2, 12);
    expect(ratio(40)).toBeCloseTo(0.8, 12);
  });

  it("are not known where nobody counted, hardly any was known in time, or nothing was answered", () => {
    expect([ratio(undefined), ratio(30), ratio(60, 0)]).toEqual([undefined, undefined, undefined]);
    expect(countedArrivalRatio(undefined, 50)).toBeUndefined();
  });

  it("are not taken over the flows that found a place where there are more (ids-in-routes)", () => {
    expect([countedArrivalRatio(150, 50, 999), countedArrivalRatio(150, 50, 1_000)]).toEqual([3, undefined]);
  });
});
