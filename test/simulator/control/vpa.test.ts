import { describe, expect, it } from "vitest";
import { DecayingHistogram } from "@tradewind/simulator/control/vpa/histogram.ts";
import { StockRecommender } from "@tradewind/simulator/control/vpa/recommender.ts";
import type { PodView } from "@tradewind/simulator/world.ts";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

describe("the VPA's decaying histogram", () => {
  const histogram = () => new DecayingHistogram({ firstBucket: 1, largest: 1_000, halfLifeSeconds: 86_400 });

  it("gives the upper bound of the bucket that holds the percentile", () => {
    // Buckets: [0, 1), [1, 2.05), [2.05, 3.1525)
    const cores = histogram();
    for (const value of [0.5, 0.5, 1.5, 2.5]) cores.add(value, 1, 0);
    expect(cores.percentile(0.5)).toBeCloseTo(1, 9);
    expect(cores.percentile(0.75)).toBeCloseTo(2.05, 9);
    expect(cores.percentile(1)).toBeCloseTo(3.1525, 9);
  });

  it("counts a sample half after a half life", () => {
    const cores = histogram();
    cores.add(0.5, 3, 0);
    cores.add(2.5, 1, 0);
    expect(cores.percentile(0.7)).toBeCloseTo(1, 9);
    // Two new ones at 2.5 weigh 4 of the old kind, against 3 at 0.5.
    cores.add(2.5, 2, DAY_MS);
    expect(cores.percentile(0.4)).toBeCloseTo(3.1525, 9);
  });

  it("is empty at first and after its only sample is taken out", () => {
    const cores = histogram();
    expect(cores.percentile(0.9)).toBe(0);
    cores.add(5, 1, 0);
    cores.add(5, -1, 0);
    expect(cores.isEmpty).toBe(true);
  });
});

const pod = (cpuUsageCores: number, memoryWorkingSetBytes: number, oomKills = 0): PodView => ({
  name: "web-1",
  service: "web",
  phase: "ready",
  createdAtMs: 0,
  readyAtMs: 0,
  cpuRequestCores: 1,
  memoryRequestBytes: 1e9,
  memoryLimitBytes: 1e9,
  cpuUsageCores,
  memoryWorkingSetBytes,
  oomKills,
  sidecars: [],
});

function after(minutes: number, at: (minute: number) => PodView): ReturnType<StockRecommender["advise"]> {
  const recommender = new StockRecommender();
  for (let minute = 0; minute < minutes; minute += 1) recommender.observe([at(minute)], minute * MINUTE_MS);
  return recommender.advise();
}

describe("the stock recommender", () => {
  it("recommends the use at p90 plus 15 %, within a bucket", () => {
    const advice = after(1_440, (minute) => pod(minute % 10 < 8 ? 0.2 : 0.5, 600e6));
    expect(advice!.cpuCores.target).toBeGreaterThanOrEqual(0.5 * 1.15);
    expect(advice!.cpuCores.target).toBeLessThan(0.5 * 1.15 * 1.06);
    expect(advice!.memoryBytes.target).toBeGreaterThanOrEqual(600e6 * 1.15);
    expect(advice!.memoryBytes.target).toBeLessThan(600e6 * 1.15 * 1.06);
  });

  it("has bounds as wide as its documentation tabulates: upper x3 after 12 h, x2 after a day; lower x0.6 after 5 min", () => {
    const steady = (minutes: number) => after(minutes, () => pod(0.4, 600e6))!.cpuCores;
    expect(steady(721).upperBound / steady(721).target).toBeCloseTo(3, 1);
    expect(steady(1_441).upperBound / steady(1_441).target).toBeCloseTo(2, 1);
    expect(steady(6).lowerBound / steady(6).target).toBeCloseTo(0.6, 1);
    expect(steady(31).lowerBound / steady(31).target).toBeCloseTo(0.9, 1);
  });

  it("judges memory by the peak of a day, so that one spike counts and calm minutes do not", () => {
    const advice = after(600, (minute) => pod(0.4, minute === 300 ? 900e6 : 300e6));
    expect(advice!.memoryBytes.target).toBeGreaterThanOrEqual(900e6 * 1.15);
  });

  it("takes a container that was killed for memory to need 20 % or 100 MiB more than it had", () => {
    const advice = after(60, (minute) => pod(0.4, 300e6, minute >= 30 ? 1 : 0));
    expect(advice!.memoryBytes.target).toBeGreaterThanOrEqual(1.2e9 * 1.15);
  });

  it("never recommends less than 25 m and 250 MiB, and nothing before the first sample", () => {
    const advice = after(60, () => pod(0.001, 10e6));
    expect(advice!.cpuCores.target).toBeCloseTo(0.025, 9);
    expect(advice!.memoryBytes.target).toBe(250 * 2 ** 20);
    expect(new StockRecommender().advise()).toBeUndefined();
    expect(after(3, () => pod(Number.NaN, Number.NaN))).toBeUndefined();
  });
});
