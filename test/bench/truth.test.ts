import { seededRng } from "@tradewind/core/rng.ts";
import { describe, expect, it } from "vitest";
import { randomScenario } from "../../bench/pick/application.ts";
import { bandMean, quantiles } from "../../bench/pick/order.ts";
import { meanOwnSeconds, TrueApplication } from "../../bench/pick/truth.ts";
import type { TrueService, TrueState } from "../../bench/pick/truth.ts";
import { simulatedWindow } from "../../bench/pick/windows.ts";

const service = (name: string, parts: Partial<TrueService> = {}): TrueService => ({
  name,
  cpuSecondsPerRequest: 0.01,
  outsideSeconds: 0,
  memoryNeedBytes: 100e6,
  cpuSensitivity: 1,
  bandwidthSensitivity: 1,
  logSpread: 0.5,
  ...parts,
});
const state = (parts: Partial<TrueState> = {}): TrueState => ({
  replicas: 2,
  cpuCores: 0.5,
  memoryBytes: 1e12,
  requestsPerSecond: 50,
  cpuInterference: 0,
  bandwidthInterference: 0,
  ...parts,
});
const call = (caller: string, callee: string, callsPerRequest = 1, parallelRatio = 0) => ({
  caller,
  callee,
  callsPerRequest,
  parallelRatio,
});

describe("truth of a simulated service", () => {
  it("shares the processor, is slowed down by interference, and needs its memory", () => {
    // 25 requests a second of 10 ms on half a core: half used, 20 ms of work at half a core, twice that.
    expect(meanOwnSeconds(service("a"), state())).toBeCloseTo(0.04, 9);
    expect(meanOwnSeconds(service("a"), state({ memoryBytes: 100e6 }))).toBeCloseTo(0.08, 9);
    expect(meanOwnSeconds(service("a", { outsideSeconds: 1 }), state())).toBeCloseTo(1.04, 9);
    // Full CPU interference doubles the work: saturated, on the tangent: 20 + 0.05 · 400 = 40 times 40 ms.
    expect(meanOwnSeconds(service("a"), state({ cpuInterference: 1 }))).toBeCloseTo(1.6, 9);
  });
});

describe("truth of a simulated application", () => {
  it("has the tail of a lognormal time where there is one service", () => {
    const one = new TrueApplication([service("a")], [], 200_000, seededRng(1));
    const expected = 0.04 * Math.exp(1.6449 * 0.5 - 0.125);
    expect(Math.abs(one.tailSeconds([state()]) / expected - 1)).toBeLessThan(0.01);
  });

  it("adds what follows, takes the longest of what runs beside, and tosses a coin for a half call", () => {
    const still = (name: string): TrueService => service(name, { logSpread: 0 });
    const names = ["a", "b", "c", "d"];
    const tail = (calls: ReturnType<typeof call>[]): number =>
      new TrueApplication(names.map(still), calls, 1_000, seededRng(2)).tailSeconds(names.map(() => state()));
    expect(tail([call("a", "b"), call("b", "c", 2)])).toBeCloseTo(0.16, 9);
    expect(tail([call("a", "b", 1, 1), call("a", "c", 1, 1), call("a", "d", 2, 1)])).toBeCloseTo(0.12, 9);
    expect(tail([call("a", "b", 0.5)])).toBeCloseTo(0.08, 9);
  });

  it("comes to the same by changing one service as from scratch", () => {
    const { truth, calm } = randomScenario("x", 8, 2_000, seededRng(3));
    truth.tailSeconds(calm);
    for (const [at] of calm.entries()) {
      const changed = calm.map((each, i) => (i === at ? { ...each, replicas: each.replicas + 1 } : each));
      truth.respond(calm);
      const byChange = truth.tailIf(at, changed);
      expect(byChange).toBeCloseTo(truth.tailSeconds(changed), 12);
      expect(byChange).toBeLessThanOrEqual(truth.tailSeconds(calm));
    }
  });

  it("shows itself in windows as tracing and the agents would report them", () => {
    const scenario = randomScenario("x", 5, 100, seededRng(4));
    const { windows, flows } = simulatedWindow(scenario, scenario.calm, 30_000, seededRng(5));
    expect(windows).toHaveLength(5);
    expect(flows[0]!.latency.p95Seconds).toBeGreaterThan(windows[0]!.ownLatency!.meanSeconds);
    for (const [i, { containers, endMs }] of windows.entries()) {
      expect(endMs).toBe(45_000);
      expect(containers).toHaveLength(scenario.calm[i]!.replicas);
      expect(containers[0]!.cpuUsageCores).toBeLessThanOrEqual(containers[0]!.cpuLimitCores!);
    }
  });
});

describe("order statistics of the truth", () => {
  it("averages the values between two ranks, whatever their order", () => {
    const values = Float64Array.from({ length: 100 }, (_, i) => (i * 37) % 100);
    // Ranks 94 and 95 of 0 … 99.
    expect(bandMean(values, 0.94, 0.96)).toBe(94.5);
    expect(bandMean(Float64Array.of(5), 0.94, 0.96)).toBe(5);
  });

  it("takes quantiles by rank", () => {
    expect(quantiles(Float64Array.of(4, 1, 3, 2), [0, 0.5, 0.99])).toEqual([1, 3, 4]);
  });
});
