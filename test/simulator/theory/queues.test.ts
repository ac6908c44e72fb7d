import { describe, expect, it } from "vitest";
import { bimodal, exponential, fixed, lognormal } from "../../../simulator/model/distribution.ts";
import type { ApplicationModel } from "../../../simulator/model/application-model.ts";
import { application, call, cpu, interval99, Rig, service } from "../rig.ts";
import type { RigOptions } from "../rig.ts";

/** Latencies after a warm-up, ms, and the 99 % interval of their mean, which must be narrower than 6 % each way. */
function measure(
  model: ApplicationModel,
  requestsPerSecond: number,
  seconds: number,
  options: RigOptions = {},
): { latencies: number[]; low: number; high: number; mean: number } {
  const latencies = new Rig(model, options).run(requestsPerSecond, seconds, 10);
  const interval = interval99(latencies);
  expect(interval.high - interval.mean).toBeLessThan(0.06 * interval.mean);
  return { latencies, ...interval };
}

function expectInside(truth: number, { low, high }: { low: number; high: number }): void {
  expect(truth).toBeGreaterThan(low);
  expect(truth).toBeLessThan(high);
}

/** Chance that an arrival waits, M/M/c (Erlang C); `load` in servers. */
function erlangC(servers: number, load: number): number {
  let term = 1;
  let sum = 1;
  for (let n = 1; n < servers; n += 1) {
    term *= load / n;
    sum += term;
  }
  const waiting = (term * load) / servers / (1 - load / servers);
  return waiting / (sum + waiting);
}

const oneThread = (time = exponential(5)): ApplicationModel =>
  application(service("a", [cpu(time)], { threads: 1 }));

describe("queueing theory", () => {
  it.each([0.3, 0.6, 0.8])(
    "M/M/1 at utilisation %d: mean and p95 of the time in the system",
    (utilisation) => {
      const result = measure(oneThread(), 200 * utilisation, 2_000);
      const meanMs = 5 / (1 - utilisation);
      expectInside(meanMs, result);
      const over = result.latencies.map((ms) => (ms > -Math.log(0.05) * meanMs ? 1 : 0));
      expectInside(0.05, interval99(over));
    },
  );

  it.each([
    [2, 0.7],
    [4, 0.8],
    [8, 0.85],
  ])("M/M/%d at utilisation %d: mean by Erlang C", (servers, utilisation) => {
    const model = application(service("a", [cpu(exponential(5))], { threads: servers }));
    const result = measure(model, 200 * servers * utilisation, 600, { cores: servers });
    const waitMs = (erlangC(servers, servers * utilisation) * 5) / (servers * (1 - utilisation));
    expectInside(5 + waitMs, result);
  });

  it.each([
    ["constant times", fixed(5), 0],
    ["log-normal times, cv 1.5", lognormal(5, 1.5), 1.5],
  ])("M/G/1 in order of arrival, %s: mean by Pollaczek and Khinchine", (_, time, cv) => {
    const result = measure(oneThread(time), 120, 3_000);
    expectInside(5 + (0.6 * 5 * (1 + cv ** 2)) / (2 * 0.4), result);
  });

  it.each([
    ["exponential", exponential(5)],
    ["log-normal, cv 2", lognormal(5, 2)],
    ["bimodal", bimodal(2, 32, 0.1)],
  ])("M/G/1 with processor sharing: the mean does not depend on the distribution (%s)", (_, time) => {
    const model = application(service("a", [cpu(time)]));
    expectInside(5 / 0.4, measure(model, 120, 2_000));
  });

  it("M/M/2 with processor sharing takes as long as M/M/2 in order", () => {
    const model = application(service("a", [cpu(exponential(5))]));
    const result = measure(model, 280, 1_000, { cores: 2 });
    expectInside(5 + (erlangC(2, 1.4) * 5) / (2 * 0.3), result);
  });

  it("a tandem of M/M/1 queues takes the sum of both (Jackson)", () => {
    const model = application(
      service("door", [call("a"), call("b")]),
      service("a", [cpu(exponential(5))], { threads: 1 }),
      service("b", [cpu(exponential(3))], { threads: 1 }),
    );
    expectInside(5 / (1 - 0.6) + 3 / (1 - 0.36), measure(model, 120, 2_000));
  });

  it("a fork-join of two M/M/1 queues takes (12 − ρ)/8 of one (Nelson and Tantawi)", () => {
    const model = application(
      service("door", [call("a", "b")]),
      service("a", [cpu(exponential(5))], { threads: 1 }),
      service("b", [cpu(exponential(5))], { threads: 1 }),
    );
    expectInside(((12 - 0.6) / 8) * (5 / 0.4), measure(model, 120, 2_000));
  });

  it("random balancing over three pods is three M/M/1 queues", () => {
    const model = application(service("a", [cpu(exponential(5))], { threads: 1, replicas: 3 }));
    expectInside(5 / 0.4, measure(model, 360, 800));
  });

  it("least-connection balancing waits less than random and more than one queue for all", () => {
    const model = (balancing: "random" | "least-connections"): ApplicationModel =>
      application(service("a", [cpu(exponential(5))], { threads: 1, replicas: 3, balancing }));
    const least = measure(model("least-connections"), 480, 400).mean;
    expect(least).toBeLessThan(measure(model("random"), 480, 400).mean);
    expect(least).toBeGreaterThan(5 + (erlangC(3, 2.4) * 5) / (3 * 0.2));
  });

  it("a blocking service with c threads and no CPU work is M/M/c over its callee's time", () => {
    const model = application(
      service("a", [{ kind: "wait", dependency: "store", time: exponential(50) }], {
        threads: 4,
        blocking: true,
      }),
    );
    expectInside(50 + (erlangC(4, 3.2) * 50) / (4 * 0.2), measure(model, 64, 4_000));
  });

  it("a pool of c connections is M/M/c over the time of what lies outside", () => {
    const model = application(
      service("a", [{ kind: "wait", dependency: "store", time: exponential(50), pool: "store" }], {
        pools: { store: 4 },
      }),
    );
    expectInside(50 + (erlangC(4, 3.2) * 50) / (4 * 0.2), measure(model, 64, 4_000));
  });

  it("Little's law: requests present over time are the arrival rate times the mean latency", () => {
    const rig = new Rig(oneThread());
    const seconds = 600;
    rig.engine.load(new Float64Array(seconds).fill(120));
    let present = 0;
    for (let ms = 1; ms <= seconds * 1e3; ms += 1) {
      rig.engine.runUntil(ms);
      present += rig.engine.traffic.calls.used;
    }
    const sumMs = rig.ended.reduce((sum, { latencyMs }) => sum + latencyMs, 0);
    expect(present / sumMs).toBeGreaterThan(0.995);
    expect(present / sumMs).toBeLessThan(1.005);
  });

  it("utilisation law: the CPU used is the sum of the demands served", () => {
    const rig = new Rig(oneThread(fixed(4)));
    const { length } = rig.run(100, 300);
    rig.engine.runUntil(400_000);
    expect(rig.servers[0]?.main.usedUntil(400_000)).toBeCloseTo(4 * rig.ended.length, 3);
    expect(rig.ended.length - length).toBeLessThanOrEqual(10);
  });
});
