import { mean } from "@tradewind/core/values/statistics.ts";
import { describe, expect, it } from "vitest";
import { Machine } from "../../../simulator/engine/machine.ts";
import { exponential, fixed, lognormal } from "../../../simulator/model/distribution.ts";
import type { Distribution } from "../../../simulator/model/distribution.ts";
import { application, cpu, quantileOf, Rig, service } from "../rig.ts";
import type { RigOptions } from "../rig.ts";

interface Container {
  readonly time: Distribution;
  readonly limitCores?: number;
  readonly threads?: number;
}

function rigOf({ limitCores, threads, time }: Container, options: RigOptions = {}): Rig {
  const container = {
    cpuRequestCores: limitCores ?? 1,
    ...(limitCores !== undefined && { cpuLimitCores: limitCores }),
    memoryRequestBytes: 1e8,
  };
  const rest = { container, ...(threads !== undefined && { threads }) };
  return new Rig(application(service("a", [cpu(time)], rest)), { cores: 64, ...options });
}

/** Lets requests begin at the given times after the start of the second CFS period; latencies in order of arrival. */
function latenciesAt(rig: Rig, startsMs: readonly number[], during: () => void = () => undefined): number[] {
  const [server] = rig.servers;
  const begin = (server?.main.nextPeriodMs ?? NaN) + 100;
  startsMs.forEach((startMs, number) => {
    rig.engine.agenda.at(begin + startMs, () => rig.engine.traffic.request(0, number, number));
  });
  rig.engine.agenda.at(begin + 75, during);
  rig.engine.runUntil(begin + 5_000);
  rig.engine.audit();
  return [...rig.ended].sort((a, b) => a.startMs - b.startMs).map(({ latencyMs }) => latencyMs);
}

function expectClose(found: readonly number[], expected: readonly number[]): void {
  expect(found).toHaveLength(expected.length);
  for (const [index, value] of expected.entries()) expect(found[index]).toBeCloseTo(value, 3);
}

describe("processor under CFS bandwidth control", () => {
  it("runs one thread until the quota is used, stalls to the next period and goes on", () => {
    const rig = rigOf({ time: fixed(120), limitCores: 0.5, threads: 1 });
    expectClose(latenciesAt(rig, [0]), [220]);
    expect(rig.servers[0]?.main.throttledPeriods).toBe(2);
  });

  it("begins a quota in the middle of a period whole", () => {
    expectClose(latenciesAt(rigOf({ time: fixed(60), limitCores: 0.5, threads: 1 }), [80]), [60]);
  });

  it("uses the quota k times faster with k threads", () => {
    const rig = rigOf({ time: fixed(40), limitCores: 0.5, threads: 2 });
    expectClose(latenciesAt(rig, [0, 0]), [115, 115]);
  });

  it("never stalls while requests need less than the quota together", () => {
    const rig = rigOf({ time: fixed(10), limitCores: 1, threads: 8 });
    expectClose(latenciesAt(rig, [0, 0, 0, 0]), [10, 10, 10, 10]);
    expect(rig.servers[0]?.main.throttledPeriods).toBe(0);
  });

  it("lets requests beyond its threads wait in order", () => {
    const rig = rigOf({ time: fixed(10), limitCores: 4, threads: 2 });
    expectClose(latenciesAt(rig, [0, 1, 2, 3]), [10, 10, 18, 18]);
  });

  it("takes a larger limit at once, in the middle of a stall", () => {
    const rig = rigOf({ time: fixed(120), limitCores: 0.5, threads: 1 });
    const latencies = latenciesAt(rig, [0], () =>
      rig.servers[0]?.main.resize({ limitCores: 1, requestCores: 1, periodMs: 100 }, rig.engine.nowMs),
    );
    expectClose(latencies, [145]);
  });

  it("takes a smaller limit at once: what was used of the period counts", () => {
    const rig = rigOf({ time: fixed(120), limitCores: 1, threads: 1 });
    const latencies = latenciesAt(rig, [0], () =>
      rig.servers[0]?.main.resize({ limitCores: 0.5, requestCores: 1, periodMs: 100 }, rig.engine.nowMs),
    );
    expectClose(latencies, [145]);
  });

  it("counts periods in which it ran and those in which it was throttled", () => {
    const rig = rigOf({ time: fixed(120), limitCores: 0.5, threads: 1 });
    latenciesAt(rig, [0, 1_000]);
    const { main } = rig.servers[0]!;
    main.advance(rig.engine.nowMs);
    expect([main.periods, main.throttledPeriods]).toEqual([6, 4]);
    expect(main.usedUntil(rig.engine.nowMs)).toBeCloseTo(240, 6);
  });

  it("shares a full node by CPU requests and gives away what one does not need", () => {
    const used = (requests: readonly number[], loads: readonly number[]): number[] => {
      const rig = rigOf({ time: fixed(1) });
      const machine = new Machine(2);
      const servers = requests.map((requestCores, index) => {
        const server = rig.engine.addServer(0, index + 1, { machine, demandFactor: 1 });
        server.main.resize({ requestCores, limitCores: Infinity, periodMs: 100 }, 0);
        return server;
      });
      // Jobs that outlast the run keep so many threads busy.
      servers.forEach((server, index) => {
        for (let job = 0; job < (loads[index] ?? 0); job += 1) {
          const call = rig.engine.traffic.calls.take();
          rig.engine.traffic.calls.demandMs[call] = 1e9;
          server.main.submit(call, 0);
        }
      });
      return servers.map(({ main }) => Math.round(main.usedUntil(1_000)));
    };
    expect(used([1, 3], [8, 8])).toEqual([500, 1_500]);
    expect(used([1, 3, 4], [8, 1, 8])).toEqual([250, 750, 1_000]);
    expect(used([3, 1], [1, 8])).toEqual([1_000, 1_000]);
    expect(used([1, 1], [1, 1])).toEqual([1_000, 1_000]);
  });

  it("has another share of a full node as soon as its CPU request changes", () => {
    const rig = rigOf({ time: fixed(1) });
    const machine = new Machine(2);
    const [one, other] = [1, 2].map((pod) => rig.engine.addServer(0, pod, { machine, demandFactor: 1 }).main);
    for (const processor of [one!, other!]) {
      for (let job = 0; job < 4; job += 1) {
        const call = rig.engine.traffic.calls.take();
        rig.engine.traffic.calls.demandMs[call] = 1e9;
        processor.submit(call, 0);
      }
    }
    one!.resize({ requestCores: 3, limitCores: Infinity, periodMs: 100 }, 500);
    expect([one!, other!].map((each) => Math.round(each.usedUntil(1_500)))).toEqual([2_000, 1_000]);
  });

  it("never uses more than its quota in a period", () => {
    const rig = rigOf({ time: exponential(20), limitCores: 0.7, threads: 8 });
    const { main } = rig.servers[0]!;
    rig.engine.load(new Float64Array(60).fill(33));
    let before = 0;
    for (let ms = main.nextPeriodMs; ms < 60_000; ms += 100) {
      rig.engine.runUntil(ms);
      const used = main.usedUntil(ms);
      expect(used - before).toBeLessThanOrEqual(70 + 1e-3);
      before = used;
    }
    expect(main.throttledPeriods).toBeGreaterThan(100);
  });

  it.each([
    { name: "half a core, one thread", limitCores: 0.5, threads: 1, rate: 60 },
    { name: "one core, eight threads", limitCores: 1, threads: 8, rate: 120 },
    { name: "0.2 cores, four threads", limitCores: 0.2, threads: 4, rate: 20 },
    { name: "one and a half cores, no end of threads", limitCores: 1.5, threads: 64, rate: 180 },
  ])("takes as long as a simulation in steps of 0.01 ms: $name", ({ limitCores, threads, rate }) => {
    const time = lognormal(6, 1);
    const rig = rigOf({ time, limitCores, threads });
    const { main } = rig.servers[0]!;
    const phaseMs = main.nextPeriodMs;
    const demands: number[] = [];
    const { submit } = main;
    main.submit = (job, nowMs) => {
      demands.push(rig.engine.traffic.calls.demandMs[job] ?? 0);
      submit.call(main, job, nowMs);
    };
    rig.engine.load(new Float64Array(40).fill(rate));
    rig.engine.runUntil(45_000);
    const ended = [...rig.ended].sort((a, b) => a.startMs - b.startMs);
    const found = ended.map(({ latencyMs }) => latencyMs);
    const reference = inSteps(
      ended.map(({ startMs }, index) => ({ startMs, demandMs: demands[index] ?? 0 })),
      { limitCores, threads, phaseMs },
    );
    expect(Math.abs(mean(found) / mean(reference) - 1)).toBeLessThan(0.006);
    expect(Math.abs(quantileOf(found, 0.95) / quantileOf(reference, 0.95) - 1)).toBeLessThan(0.01);
    const off = found.filter((ms, index) => Math.abs(ms - (reference[index] ?? 0)) > 1);
    expect(off.length).toBeLessThan(0.02 * found.length);
  });
});

const STEP_MS = 0.01;

/** What the class does, in the most obvious way: time goes in small steps, in each of which running jobs get a step of work. */
function inSteps(
  jobs: readonly { startMs: number; demandMs: number }[],
  { limitCores, phaseMs, threads }: { limitCores: number; threads: number; phaseMs: number },
): number[] {
  const latencies: number[] = [];
  const present: { index: number; leftMs: number }[] = [];
  let period = 0;
  let quotaMs = 100 * limitCores;
  let next = 0;
  for (let step = 0; latencies.length < jobs.length || present.length > 0; step += 1) {
    const nowMs = step * STEP_MS;
    while (next < jobs.length && (jobs[next]?.startMs ?? 0) <= nowMs) {
      present.push({ index: next, leftMs: jobs[next]?.demandMs ?? 0 });
      next += 1;
    }
    const nowPeriod = Math.floor((nowMs - phaseMs) / 100);
    if (nowPeriod !== period) quotaMs = 100 * limitCores;
    period = nowPeriod;
    const running = present.slice(0, threads);
    if (quotaMs > 0) {
      for (const job of running) job.leftMs -= STEP_MS;
      quotaMs -= STEP_MS * running.length;
    }
    for (const job of running) {
      if (job.leftMs > 0) continue;
      latencies[job.index] = nowMs + STEP_MS - (jobs[job.index]?.startMs ?? 0);
      present.splice(present.indexOf(job), 1);
    }
    if (next === jobs.length && present.length === 0) break;
  }
  return latencies;
}
