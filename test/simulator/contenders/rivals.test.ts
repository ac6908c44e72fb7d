import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { Captain } from "@tradewind/simulator/contenders/autothrottle.ts";
import { QTable, rewardOf, stateOf } from "@tradewind/simulator/contenders/coscal.ts";
import { inParallel, inSequence, latencyTargets } from "@tradewind/simulator/contenders/erms.ts";
import { correlation, criticalPath, culprit } from "@tradewind/simulator/contenders/firm.ts";
import { HoltWinters } from "@tradewind/simulator/contenders/holt-winters.ts";
import { sharePods, virtualQueues } from "@tradewind/simulator/contenders/queueflower.ts";
import { candidates, choose, pressure, WholeModel } from "@tradewind/simulator/contenders/sinan.ts";

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

describe("Sinan's scheduler", () => {
  const spec = { minReplicas: 1, maxReplicas: 9 } as never;
  const facts = [{ spec }, { spec }];
  const cores = ({ pods }: { readonly pods: readonly number[] }) => pods.reduce((sum, each) => sum + each, 0);

  it("takes the cheapest action that is safe", () => {
    const actions = candidates(facts, [3, 3]);
    const chance = ({ pods }: { readonly pods: readonly number[] }) => (pods[0]! < 3 ? 0.6 : 0.01);
    expect(choose(actions, chance, cores, { down: 0.05, hold: 0.2 })).toEqual({ kind: "down", pods: [3, 2] });
  });

  it("asks more of going down than of staying", () => {
    const chance = () => 0.1;
    const actions = candidates(facts, [3, 3]);
    expect(choose(actions, chance, cores, { down: 0.05, hold: 0.2 })?.kind).toBe("hold");
  });

  it("sends everything up when nothing is safe", () => {
    const chosen = choose(candidates(facts, [3, 3]), () => 0.9, cores, { down: 0.05, hold: 0.2 });
    expect(chosen).toEqual({ kind: "up-all", pods: [4, 4] });
  });

  it("learns which service the latency depends on", () => {
    const model = new WholeModel(2);
    const rng = seededRng(3);
    for (let window = 0; window < 300; window += 1) {
      const inputs = [pressure(rng(), 1), pressure(rng(), 1)];
      model.learn(inputs, -2 + 1.5 * inputs[0]!);
    }
    const change = (at: number) =>
      model.predict([at === 0 ? 1 : 0, at === 1 ? 1 : 0]) - model.predict([0, 0]);
    expect(change(0)).toBeGreaterThan(1.4);
    expect(change(1)).toBeLessThan(0.1);
    expect(model.chanceOfMiss([2, 0], Math.log(0.15))).toBeGreaterThan(0.99);
    expect(model.chanceOfMiss([0, 0], Math.log(0.6))).toBeLessThan(0.01);
  });
});

describe("CoScal's table", () => {
  it("has four levels of use, met or missed", () => {
    expect(stateOf(0.1, 0.5)).toBe("0 met");
    expect(stateOf(0.74, 1.5)).toBe("2 missed");
    expect(stateOf(1.7, 1.5)).toBe("3 missed");
  });

  it("rewards a met objective near the target use most", () => {
    expect(rewardOf(0.6, 0.8, 0.6)).toBe(1);
    expect(rewardOf(0.1, 0.8, 0.6)).toBeLessThan(0.7);
    expect(rewardOf(0.6, 3, 0.6)).toBeLessThan(0.02);
  });

  it("learns to leave an action that is punished", () => {
    const table = new QTable(0.2);
    expect(table.best("0 met")).toBe(-1);
    for (let step = 0; step < 30; step += 1) table.learn("0 met", -1, 0, "3 missed");
    for (let step = 0; step < 30; step += 1) table.learn("0 met", 0, 1, "0 met");
    expect(table.best("0 met")).toBe(0);
  });
});

describe("Autothrottle's Captain", () => {
  it("multiplies the quota by 1 + throttling - 3 targets when there is more throttling than three targets", () => {
    const captain = new Captain(2);
    expect(captain.step(0.5, 1.9, 0.1)).toBeCloseTo(2 * (1 + 0.5 - 0.3), 12);
  });

  it("lowers it to the highest use when there is no throttling, by half at most in one step", () => {
    const captain = new Captain(8);
    expect(captain.step(0, 1, 0)).toBe(4);
    expect(captain.step(0, 1, 0)).toBe(2);
    expect(captain.step(0, 1, 0)).toBe(1);
  });

  it("leaves it alone while what is proposed saves less than a tenth", () => {
    const captain = new Captain(1.05);
    expect(captain.step(0, 1, 0)).toBe(1.05);
  });

  it("gives back twice what a step down took when throttling follows it", () => {
    const captain = new Captain(4);
    expect(captain.step(0, 1, 0.05)).toBe(2);
    expect(captain.step(0.6, 1.9, 0.05)).toBe(6);
  });

  it("keeps a margin over the use that grows with throttling above the target", () => {
    const held = (throttled: number) => {
      const captain = new Captain(10);
      for (let step = 0; step < 12; step += 1) captain.step(throttled, step % 2 === 0 ? 1 : 2, 0.1);
      return captain.quota;
    };
    expect(held(0.29)).toBeGreaterThan(held(0) + 0.5);
  });
});
