import { describe, expect, it } from "vitest";
import { cheapestAt, equalMisses } from "../../../bench/course/equal-misses.ts";
import type { Run } from "../../../bench/course/report.ts";

const point = (over: number, cost: number) => ({ policy: "hpa-cpu", over, cost });

describe("cheapestAt", () => {
  const points = [point(0.01, 3), point(0.03, 2), point(0.05, 1.8), point(0.04, 4)];

  it("mixes two settings so that they meet the given share exactly: half way between 1 and 3 % costs 2.5", () => {
    expect(cheapestAt(points, 0.02)).toEqual({ cost: 2.5, policy: "hpa-cpu", isReached: true });
  });

  it("takes the cheapest setting where all of them have fewer requests over", () => {
    expect(cheapestAt(points, 0.2)).toEqual({ cost: 1.8, policy: "hpa-cpu", isReached: true });
  });

  it("says that no setting reaches it, with the price of the one that has fewest requests over", () => {
    expect(cheapestAt(points, 0.005)).toEqual({ cost: 3, policy: "hpa-cpu", isReached: false });
  });

  it("is undefined without a point", () => {
    expect(cheapestAt([], 0.1)).toBeUndefined();
  });
});

describe("equalMisses", () => {
  const run = (
    policy: string,
    targetPercent: number,
    seed: number,
    requestsOver: number,
    costPerHour: number,
  ): Run => ({
    plant: "wave",
    policy,
    actuators: "replicas",
    parameters: { targetPercent },
    seed,
    cpuSeconds: 1,
    result: {
      requestsOver,
      requestsOverFromStart: requestsOver,
      minutesOver: 0,
      costPerHour,
      cores: 1,
      gigabytes: 1,
      starts: 0,
      stops: 0,
      failed: 0,
      oomKills: 0,
      requests: 1_000,
    },
  });

  it("compares means over the seeds of each setting, plant by plant, and leaves the others out", () => {
    const runs = [
      run("tradewind-auto", 0, 1, 0.01, 0.8),
      run("tradewind-auto", 0, 2, 0.03, 1),
      run("hpa-cpu", 40, 1, 0, 2),
      run("hpa-cpu", 40, 2, 0.02, 2),
      run("hpa-cpu", 60, 1, 0.04, 1),
      run("hpa-cpu", 60, 2, 0.02, 1),
      run("clairvoyant", 0, 1, 0, 0.1),
    ];
    const [wave] = equalMisses(runs, "tradewind-auto", new Set(["hpa-cpu"]));
    expect(wave).toMatchObject({ plant: "wave", rival: "hpa-cpu", isReached: true });
    expect(wave?.requestsOver).toBeCloseTo(0.02, 12);
    expect(wave?.rivalCostPerHour).toBeCloseTo(1.5, 12);
    expect(wave?.costRatio).toBeCloseTo(0.6, 12);
  });
});
