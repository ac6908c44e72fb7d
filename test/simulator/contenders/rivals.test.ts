import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { inParallel, inSequence, latencyTargets } from "@tradewind/simulator/contenders/erms.ts";
import { correlation, criticalPath, culprit, fallPerCore } from "@tradewind/simulator/contenders/firm.ts";
import { balancedPods, meanRequests } from "@tradewind/simulator/contenders/hab.ts";
import { HoltWinters } from "@tradewind/simulator/contenders/holt-winters.ts";
import { sharePods, virtualQueues } from "@tradewind/simulator/contenders/queueflower.ts";

const call = (caller: string, callee: string, parallelRatio = 0) => ({
  caller,
  callee,
  callsPerRequest: 1,
  parallelRatio,
});

describe("Holt-Winters", () => {
  const factors = { level: 0.5, trend: 0.2, season: 0.3 };

  it("continues a straight line exactly", () => {
    const line = new HoltWinters(0, { ...factors, trend: 1, level: 1 });
    for (const value of [10, 13, 16, 19]) line.add(value);
    expect(line.forecast(1)).toBeCloseTo(22, 9);
    expect(line.forecast(4)).toBeCloseTo(31, 9);
  });

  it("continues a season on a rising line once two whole seasons have been seen, and not before", () => {
    const wave = [0, 8, 0, -8];
    const value = (at: number) => 100 + 2 * at + wave[at % 4]!;
    const season = new HoltWinters(4, factors);
    for (let at = 0; at < 7; at += 1) season.add(value(at));
    expect(Math.abs(season.forecast(3) - value(9))).toBeGreaterThan(1);
    for (let at = 7; at < 12; at += 1) season.add(value(at));
    for (let ahead = 1; ahead <= 6; ahead += 1) {
      expect(season.forecast(ahead)).toBeCloseTo(value(11 + ahead), 6);
    }
  });
});

describe("QueueFlower", () => {
  const latency = (mean: number, p95: number) => ({
    count: 100,
    meanSeconds: mean,
    p50Seconds: mean,
    p95Seconds: p95,
    p99Seconds: p95,
  });
  const window = (service: string, meanSeconds: number) => ({
    namespace: "default",
    service,
    startMs: 0,
    endMs: 15_000,
    callees: [],
    containers: [],
    ownLatency: latency(meanSeconds, 2 * meanSeconds),
  });

  it("weighs latency, violation of the mean and of the tail of all flows through a service", () => {
    const flow = (services: string[], mean: number, p95: number) => ({
      flow: services.join(" "),
      entryService: services[0]!,
      requestsPerSecond: 10,
      errorRatio: 0,
      latency: latency(mean, p95),
      services,
    });
    const queues = virtualQueues(
      {
        startMs: 0,
        endMs: 15_000,
        windows: [window("a", 0.1), window("b", 0.04)],
        flows: [flow(["a", "b"], 0.2, 0.5), flow(["a"], 0.05, 0.6)],
      },
      { percentile: 0.95, tailSeconds: 0.3, meanSeconds: 0.1 },
      [0.5, 0.3, 0.2],
    );
    expect(queues.get("a")).toBeCloseTo(0.5 * 0.1 + 0.3 * 0.1 + 0.2 * (0.2 + 0.3), 12);
    expect(queues.get("b")).toBeCloseTo(0.5 * 0.04 + 0.3 * 0.1 + 0.2 * 0.2, 12);
  });

  it("shares all pods in proportion, rounded down, and gives the rest by chance", () => {
    const queues = new Map([
      ["a", 5],
      ["b", 3],
      ["c", 2],
    ]);
    expect([...sharePods(queues, 23, seededRng(1)).values()]).toEqual([11, 7, 5]);
    const counts = Array.from({ length: 200 }, (_, seed) => sharePods(queues, 12, seededRng(seed)));
    for (const pods of counts) expect([...pods.values()].reduce((a, b) => a + b)).toBe(12);
    // Nine pods: 4.5, 2.7 and 1.8, so 4, 2 and 1 are certain and two are drawn, for a with a chance of one half each.
    const mean = counts.reduce((sum, pods) => sum + pods.get("a")! - 5, 0) / counts.length;
    expect(mean).toBeGreaterThan(0.8);
    expect(mean).toBeLessThan(1.2);
  });
});

describe("Erms' allocation rule", () => {
  it("shares the latency between two services in a row by the roots of slope times load", () => {
    const models = new Map([
      ["front", { weight: 4, b: 0.5 }],
      ["back", { weight: 1, b: 0.5 }],
    ]);
    const targets = latencyTargets({ entryService: "front", calls: [call("front", "back")] }, models, 4);
    // 3 s are left over the constants: two thirds and one third. Pods: 4/(2.5-0.5) = 2 and 1/(1.5-0.5) = 1.
    expect(targets.get("front")).toBeCloseTo(2.5, 12);
    expect(targets.get("back")).toBeCloseTo(1.5, 12);
  });

  it("is the cheapest split: no other one needs fewer pods for the same sum", () => {
    const [x, y] = [
      { weight: 9, b: 0.2 },
      { weight: 2, b: 0.1 },
    ];
    const whole = inSequence([x, y]);
    const spare = 2 - whole.b;
    const pods = (share: number) => x.weight / (share * spare) + y.weight / ((1 - share) * spare);
    const best = Math.sqrt(x.weight) / (Math.sqrt(x.weight) + Math.sqrt(y.weight));
    for (const share of [0.3, 0.5, 0.6, 0.75, 0.8]) {
      expect(pods(share)).toBeGreaterThanOrEqual(pods(best));
    }
    expect(whole.weight / spare).toBeCloseTo(pods(best), 9);
  });

  it("gives calls side by side the same target, the weights of both added", () => {
    const [b, c] = [
      { weight: 1, b: 0.1 },
      { weight: 3, b: 0.3 },
    ];
    expect(inParallel([b, c])).toEqual({ weight: 4, b: 0.3 });
    const models = new Map([
      ["a", { weight: 4, b: 0 }],
      ["b", b],
      ["c", c],
    ]);
    const targets = latencyTargets(
      { entryService: "a", calls: [call("a", "b", 1), call("a", "c", 1)] },
      models,
      1.3,
    );
    expect(targets.get("a")).toBeCloseTo(0.5, 12);
    expect(targets.get("b")).toBeCloseTo(0.8, 12);
    expect(targets.get("c")).toBeCloseTo(0.8, 12);
  });
});

describe("FIRM's culprit", () => {
  it("follows the slower of two calls side by side, and all calls in a row", () => {
    const calls = [call("a", "b", 1), call("a", "c", 1), call("c", "d"), call("c", "e")];
    const seconds: Record<string, number> = { b: 0.1, c: 0.3 };
    expect(criticalPath({ entryService: "a", calls }, (name) => seconds[name] ?? 0)).toEqual([
      "a",
      "c",
      "d",
      "e",
    ]);
  });

  it("names the service whose tail moves with the whole, not the one that is always slow", () => {
    const whole = [1, 2, 1, 3, 1, 4];
    const slow = { service: "slow", relativeImportance: correlation([5, 5.1, 5, 5, 5.1, 5], whole) };
    const bursty = { service: "bursty", relativeImportance: correlation([0.1, 1, 0.2, 2, 0.1, 3], whole) };
    expect(bursty.relativeImportance).toBeGreaterThan(0.95);
    const found = culprit([
      { ...slow, congestionIntensity: 1.2 },
      { ...bursty, congestionIntensity: 8 },
    ]);
    expect(found?.service).toBe("bursty");
  });
});

describe("Grad's Firm*", () => {
  const selfTime = { count: 100, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds: 0.2, p99Seconds: 0.3 };

  it("expects of one more core what an M/M/1 queue gains by it", () => {
    // 0.2 s over two pods of one core, of which a half is free.
    expect(fallPerCore({ podCores: 1, replicas: 2, selfTime, utilisation: 0.5 })).toBeCloseTo(0.2, 12);
    expect(fallPerCore({ podCores: 0.5, replicas: 1, selfTime, utilisation: 0.8 })).toBeCloseTo(2, 12);
  });

  it("gains a finite amount at a full service, and nothing where no time was measured", () => {
    expect(fallPerCore({ podCores: 1, replicas: 1, selfTime, utilisation: 1 })).toBeCloseTo(20, 9);
    expect(fallPerCore({ podCores: 1, replicas: 1 })).toBe(0);
  });
});

describe("HAB's balanced network", () => {
  it("has the mean requests of M/M/1 and M/M/2 at half load, and of none that can carry it", () => {
    expect(meanRequests({ perSecond: 5, workSeconds: 0.1 }, 1)).toBeCloseTo(1, 12);
    // Erlang: 2ρ / (1 − ρ²) with ρ = 0.5.
    expect(meanRequests({ perSecond: 10, workSeconds: 0.1 }, 2)).toBeCloseTo(4 / 3, 12);
    expect(meanRequests({ perSecond: 10, workSeconds: 0.1 }, 1)).toBe(Infinity);
  });

  it("makes every service carry its load before it shortens a queue", () => {
    const loads = new Map([
      ["light", { perSecond: 9, workSeconds: 0.1 }],
      ["heavy", { perSecond: 25, workSeconds: 0.1 }],
    ]);
    expect([...balancedPods(loads, 4)]).toEqual([
      ["light", 1],
      ["heavy", 3],
    ]);
    // The light one holds 9 requests on average, the heavy one 6: the next pod takes 7.9 off the first and 3 off the second.
    expect([...balancedPods(loads, 5)]).toEqual([
      ["light", 2],
      ["heavy", 3],
    ]);
  });

  it("gives every service a pod, even where the budget has fewer", () => {
    const loads = new Map([
      ["a", { perSecond: 0, workSeconds: 0.1 }],
      ["b", { perSecond: 1, workSeconds: 0.1 }],
    ]);
    expect([...balancedPods(loads, 1).values()]).toEqual([1, 1]);
  });
});
