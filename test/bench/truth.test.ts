import { mean } from "@tradewind/core/values/statistics.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { exponential, fixed } from "@tradewind/simulator/model/distribution.ts";
import { describe, expect, it } from "vitest";
import { randomScenario } from "../../bench/pick/application.ts";
import { Composition } from "../../bench/pick/composition.ts";
import { bandMean, quantiles } from "../../bench/pick/order.ts";
import type { PickState } from "../../bench/pick/picks.ts";
import { mostMemoryStarved, mostUtilised } from "../../bench/pick/rules.ts";
import { memoryFactor, ownTimes, workSeconds } from "../../bench/pick/truth.ts";
import type { TrueService, TrueState } from "../../bench/pick/truth.ts";
import { simulatedWindow } from "../../bench/pick/windows.ts";

const service = (parts: Partial<TrueService> = {}): TrueService => ({
  name: "a",
  demand: exponential(10),
  threads: 1,
  outsideSeconds: 0,
  memoryNeedBytes: 100e6,
  cpuSensitivity: 1,
  bandwidthSensitivity: 1,
  ...parts,
});
const state = (parts: Partial<TrueState> = {}): TrueState => ({
  replicas: 2,
  cpuCores: 10,
  memoryBytes: 1e9,
  requestsPerSecond: 100,
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
const p95 = (values: Float64Array): number => quantiles(values.slice(), [0.95])[0]!;

describe("truth of a simulated service", () => {
  it("is an M/M/1 queue with one thread and more CPU than it can use", () => {
    // 50 requests a second of 10 ms to each of two: mean 10 / (1 - 0.5), p95 of an exponential.
    const { seconds, throttledPeriods } = ownTimes(service(), state(), { count: 150_000, key: 1 });
    expect(Math.abs(mean(seconds) / 0.02 - 1)).toBeLessThan(0.02);
    expect(Math.abs(p95(seconds) / (0.02 * Math.log(20)) - 1)).toBeLessThan(0.03);
    expect(throttledPeriods).toBe(0);
  });

  it("stalls where its quota is used up, though its threads have nothing to wait for", () => {
    const of = (cpuCores: number) =>
      ownTimes(service({ threads: 16 }), state({ cpuCores }), { count: 30_000, key: 2 });
    const [wide, narrow] = [of(10), of(0.7)];
    expect(wide.throttledPeriods).toBe(0);
    expect(narrow.throttledPeriods / narrow.periods).toBeGreaterThan(0.1);
    expect(p95(narrow.seconds)).toBeGreaterThan(1.5 * p95(wide.seconds));
  });

  it("gathers a backlog for as long as a window lasts where it gets more than it can do", () => {
    const { seconds } = ownTimes(service(), state({ requestsPerSecond: 400 }), { count: 9_000, key: 3 });
    // Twice what it can do: after 20 s it is 20 s behind.
    expect(Math.abs(mean(seconds) / 12.5 - 1)).toBeLessThan(0.1);
  });

  it("waits outside for what no resource shortens", () => {
    const { seconds } = ownTimes(
      service({ demand: fixed(1), threads: 100, outsideSeconds: 0.05 }),
      state({ requestsPerSecond: 1 }),
      { count: 50_000, key: 4 },
    );
    expect(Math.abs(mean(seconds) / 0.051 - 1)).toBeLessThan(0.02);
  });

  it("feels memory only where it needs more than 85 % of its limit", () => {
    expect(memoryFactor(service(), state({ memoryBytes: 118e6 }))).toBe(1);
    expect(memoryFactor(service(), state({ memoryBytes: 100e6 }))).toBeCloseTo(1.6, 9);
    expect(memoryFactor(service({ memoryNeedBytes: 140e6 }), state({ memoryBytes: 100e6 }))).toBeCloseTo(
      3.2,
      9,
    );
  });

  it("works more under interference", () => {
    expect(workSeconds(service(), state())).toBeCloseTo(0.01, 9);
    expect(workSeconds(service(), state({ cpuInterference: 1, bandwidthInterference: 1 }))).toBeCloseTo(
      0.04,
      9,
    );
  });
});

describe("end-to-end times of a simulated application", () => {
  const tail = (calls: ReturnType<typeof call>[]): number => {
    const own = [0, 1, 2, 3].map(() => new Float64Array(1_000).fill(0.04));
    const composition = new Composition(["a", "b", "c", "d"], calls, 1_000, seededRng(2));
    return bandMean(composition.respond(own)[0]!, 0.94, 0.96);
  };

  it("adds what follows, takes the longest of what runs beside, and tosses a coin for a half call", () => {
    expect(tail([call("a", "b"), call("b", "c", 2)])).toBeCloseTo(0.16, 9);
    expect(tail([call("a", "b", 1, 1), call("a", "c", 1, 1), call("a", "d", 2, 1)])).toBeCloseTo(0.12, 9);
    expect(tail([call("a", "b", 0.5)])).toBeCloseTo(0.08, 9);
  });

  it("comes to the same by changing one service as from scratch", () => {
    const { calm, truth } = randomScenario("x", 8, 2_000, seededRng(3));
    const answered = truth.answer(calm);
    for (const [at, before] of calm.entries()) {
      const less = { ...before, cpuCores: 0.8 * before.cpuCores, memoryBytes: 0.5 * before.memoryBytes };
      const changed = calm.map((each, i) => (i === at ? less : each));
      expect(truth.tailIf(answered, at, less)).toBeCloseTo(truth.answer(changed).tailSeconds, 12);
      expect(truth.tailIf(answered, at, less)).toBeGreaterThan(answered.tailSeconds);
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

describe("windows of an overloaded service", () => {
  const scenario = randomScenario("x", 3, 100, seededRng(4));
  const callers = new Map(scenario.traced.calls.map(({ callee, caller }) => [callee, caller]));
  const full = scenario.calm.map((each, i) => (i === 2 ? { ...each, cpuCores: each.cpuCores / 4 } : each));
  const { flows, windows } = simulatedWindow(scenario, full, 30_000, seededRng(5));

  it("count the requests that ended, at its callers too, and at the entry those that began", () => {
    const [entry, , overloaded] = windows;
    const share = (overloaded?.requestsPerSecond ?? 0) / (full[2]?.requestsPerSecond ?? 1);
    expect(share).toBeLessThan(0.95);
    expect(callers.get("s2")).toBeDefined();
    expect((entry?.requestsPerSecond ?? 0) / (entry?.beganPerSecond ?? 1)).toBeCloseTo(share, 1);
    expect((entry?.beganPerSecond ?? 0) / scenario.entryRate).toBeCloseTo(1, 1);
    expect(flows[0]?.requestsPerSecond).toBeCloseTo(share * scenario.entryRate, -1);
  });

  it("show all of its CPU used, and what a request takes as use over requests that ended", () => {
    const { containers = [], requestsPerSecond = 0 } = windows[2] ?? {};
    const service = scenario.truth.services[2]!;
    const used = containers.reduce((sum, { cpuUsageCores = 0 }) => sum + cpuUsageCores, 0);
    expect(used / (full[2]!.replicas * Math.min(full[2]!.cpuCores, service.threads))).toBeGreaterThan(0.93);
    expect(used / requestsPerSecond / workSeconds(service, full[2]!)).toBeGreaterThan(0.85);
    expect(used / requestsPerSecond / workSeconds(service, full[2]!)).toBeLessThan(1.15);
  });
});

describe("rules of one line that plans are measured against", () => {
  const window = (p95Seconds: number, cpuUsageCores: number, memoryWorkingSetBytes: number, count = 1) => ({
    ownLatency: { p95Seconds },
    replicasReady: count,
    containers: Array.from({ length: count }, () => ({
      cpuUsageCores,
      cpuLimitCores: 1,
      memoryWorkingSetBytes,
      memoryLimitBytes: 100,
    })),
  });
  const windows = [window(0.2, 0.9, 50), window(0.1, 0.3, 90), window(0.5, 0.6, 60, 8)];
  const seen = { windowSet: { windows } } as unknown as PickState;

  it("give memory by tail, fullness and replicas, and a replica by use", () => {
    expect(mostMemoryStarved(seen)).toEqual({ service: 1, resource: "memory" });
    expect(mostUtilised(seen)).toEqual({ service: 0, resource: "replicas" });
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
