import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { describe, expect, it } from "vitest";
import { exponential, fixed, lognormal } from "../../../simulator/model/distribution.ts";
import type { ApplicationModel, CallModel, StepModel } from "../../../simulator/model/application-model.ts";
import { application, call, cpu, Rig, service } from "../rig.ts";
import type { RigOptions } from "../rig.ts";

const wait = (ms: number, rest: { pool?: string; traced?: boolean } = {}): StepModel => ({
  kind: "wait",
  dependency: "store",
  time: fixed(ms),
  ...rest,
});
const calling = (rest: Partial<CallModel>, name = "b"): StepModel => ({
  kind: "call",
  calls: [{ service: name, operation: "serve", ...rest }],
});

/** Requests at the given times; what happened until all of them were over. */
function after(model: ApplicationModel, startsMs: readonly number[], options: RigOptions = {}): Rig {
  const rig = new Rig(model, { cores: 16, auditEvery: 1, ...options });
  startsMs.forEach((startMs, number) => {
    rig.engine.agenda.at(startMs, () => rig.engine.traffic.request(0, number, number));
  });
  rig.engine.runUntil(60_000);
  rig.engine.audit();
  expect(rig.engine.traffic.calls.used).toBe(0);
  return rig;
}

const latencies = (rig: Rig): number[] => rig.ended.map(({ latencyMs }) => latencyMs);
const usedMs = (rig: Rig, pod: number): number => rig.servers[pod]?.main.usedUntil(60_000) ?? NaN;

describe("calls", () => {
  it("stages follow one another, calls of one stage run side by side", () => {
    const model = application(
      service("a", [cpu(fixed(2)), call("b", "c"), call("d"), cpu(fixed(1))]),
      service("b", [cpu(fixed(5))]),
      service("c", [cpu(fixed(9))]),
      service("d", [wait(4)]),
    );
    expect(latencies(after(model, [0]))[0]).toBeCloseTo(2 + 9 + 4 + 1, 6);
  });

  it("the network takes its time each way", () => {
    const model = {
      ...application(service("a", [call("b")]), service("b", [cpu(fixed(5))])),
      networkMs: fixed(0.5),
    };
    expect(latencies(after(model, [0]))[0]).toBeCloseTo(5 + 4 * 0.5, 6);
  });

  it("a fixed fan-out to one callee shares its threads", () => {
    const model = application(
      service("a", [calling({ count: { kind: "fixed", count: 6 } })]),
      service("b", [cpu(fixed(5))], { threads: 2 }),
    );
    expect(latencies(after(model, [0]))[0]).toBeCloseTo(15, 6);
  });

  it.each([
    [{ kind: "chance", chance: 0.25 } as const, 0.25],
    [{ kind: "uniform", low: 1, high: 4 } as const, 2.5],
  ])("a random fan-out has its mean: %o", (count, mean) => {
    const model = application(service("a", [calling({ count })]), service("b", [cpu(fixed(1))]));
    const rig = new Rig(model, { cores: 64 });
    const requests = rig.run(100, 100).length;
    const callsEach = (rig.servers[1]?.taken ?? 0) / requests;
    expect(Math.abs(callsEach / mean - 1)).toBeLessThan(0.05);
  });

  it("a caller gives up after the time limit and tries again; the callee finishes what it has begun", () => {
    const model = application(
      service("a", [calling({ timeoutMs: 30, retries: 2 })]),
      service("b", [cpu(fixed(100))]),
    );
    const rig = after(model, [0]);
    expect(rig.ended).toMatchObject([{ failed: true }]);
    expect(latencies(rig)[0]).toBeCloseTo(90, 6);
    expect(usedMs(rig, 1)).toBeCloseTo(300, 3);
  });

  it("work for a caller that has given up ends with its step, and its span begins with its thread, where the service is such", () => {
    const model = application(
      service("a", [cpu(fixed(100)), cpu(fixed(100))], { threads: 1, blocking: true, endsWithCaller: true }),
    );
    const routes = model.routes.map((route) => ({ ...route, timeoutMs: 150 }));
    const rig = after({ ...model, routes }, [0, 1, 2], { traced: true });
    expect(rig.ended.map(({ failed }) => failed)).toEqual([true, true, true]);
    expect(usedMs(rig, 0)).toBeCloseTo(200, 3);
    const spans = rig.spans.map(({ endMs, failed, startMs }) => [failed, Math.round(endMs - startMs)]);
    expect(spans).toEqual([
      [true, 200],
      [true, 0],
      [true, 0],
    ]);
  });

  it("pauses before retries double, each within half and one and a half", () => {
    const model = application(
      service("a", [calling({ timeoutMs: 1, retries: 3, backoffMs: 100 })]),
      service("b", [wait(1_000)]),
    );
    const [latencyMs = 0] = latencies(after(model, [0]));
    expect(latencyMs).toBeGreaterThan(4 + 350);
    expect(latencyMs).toBeLessThan(4 + 1_050);
  });

  it("retries of users in an overload become a storm: more requests reach the service than users asked for", () => {
    const overloaded = (retries: number): Rig => {
      const model = application(service("a", [cpu(fixed(10))], { threads: 1 }));
      const rig = new Rig({
        ...model,
        routes: model.routes.map((route) => ({ ...route, timeoutMs: 200, retries, backoffMs: 10 })),
      });
      rig.run(110, 30);
      return rig;
    };
    const [none, two] = [overloaded(0), overloaded(2)];
    expect(two.servers[0]?.taken).toBeGreaterThan(2 * (none.servers[0]?.taken ?? Infinity));
    const good = ({ ended }: Rig): number => ended.filter(({ failed }) => !failed).length;
    expect(good(two)).toBeLessThan(good(none));
  });

  it("a full queue refuses at once", () => {
    const model = application(service("a", [cpu(fixed(10))], { threads: 1, queueLimit: 2 }));
    const rig = after(model, [0, 1, 2, 12]);
    expect(rig.ended.map(({ failed, latencyMs }) => [failed, Math.round(latencyMs)])).toEqual([
      [true, 0],
      [false, 10],
      [false, 19],
      [false, 18],
    ]);
  });

  it("a call without a pod to take it fails, and its caller unless the call is optional", () => {
    const model = (optional: boolean): ApplicationModel =>
      application(service("a", [calling({ optional }), cpu(fixed(3))]), service("b", [], { replicas: 0 }));
    expect(after(model(false), [0]).ended).toMatchObject([{ failed: true, latencyMs: 0 }]);
    expect(after(model(true), [0]).ended).toMatchObject([{ failed: false, latencyMs: 3 }]);
  });

  it("a pool of two connections lets two calls through at once", () => {
    const model = application(
      service("a", [calling({ pool: "b" })], { pools: { b: 2 } }),
      service("b", [wait(10)]),
    );
    expect(latencies(after(model, [0, 0, 0, 0, 0])).map(Math.round)).toEqual([10, 10, 20, 20, 30]);
  });

  it("who gives up waiting for a connection never sends the call", () => {
    const model = application(
      service("a", [calling({ pool: "b", timeoutMs: 15 })], { pools: { b: 1 } }),
      service("b", [wait(10)]),
    );
    const rig = after(model, [0, 0, 0, 0]);
    expect(rig.servers[1]?.taken).toBe(2);
    expect(rig.ended.map(({ failed }) => failed)).toEqual([false, true, true, true]);
  });

  it("a blocking service holds its thread while it waits, another one does not", () => {
    const model = (blocking: boolean): ApplicationModel =>
      application(service("a", [cpu(fixed(1)), wait(20)], { threads: 1, blocking }));
    expect(latencies(after(model(true), [0, 0, 0])).map(Math.round)).toEqual([21, 42, 63]);
    expect(latencies(after(model(false), [0, 0, 0])).map(Math.round)).toEqual([21, 22, 23]);
  });

  it("requests pass the proxy of the pod on the way in, calls on the way out", () => {
    const sidecar = {
      name: "proxy",
      threads: 2,
      cpuRequestCores: 0.1,
      memoryRequestBytes: 5e7,
      memoryBytes: 5e7,
      inboundMs: fixed(2),
      outboundMs: fixed(1),
    };
    const model = application(
      service("a", [cpu(fixed(5)), call("b")], { sidecar }),
      service("b", [cpu(fixed(3))]),
    );
    const rig = after(model, [0]);
    expect(latencies(rig)[0]).toBeCloseTo(2 + 5 + 1 + 3, 6);
    expect(rig.servers[0]?.proxy?.usedUntil(60_000)).toBeCloseTo(3, 6);
    expect(usedMs(rig, 0)).toBeCloseTo(5, 6);
  });

  it("nobody waits for a message; consumers drain their queue as fast as they can", () => {
    const message: StepModel = { kind: "send", call: { service: "mailer", operation: "serve" } };
    const model = application(
      service("a", [message, message, message, cpu(fixed(1))]),
      service("mailer", [cpu(fixed(50))], { consumer: { concurrency: 1 }, replicas: 2 }),
    );
    const rig = after(model, [0, 0]);
    expect(latencies(rig)).toEqual([1, 1]);
    expect([usedMs(rig, 1), usedMs(rig, 2)].map(Math.round)).toEqual([150, 150]);
  });

  it("a message whose consumer is killed is delivered again", () => {
    const message: StepModel = { kind: "send", call: { service: "mailer", operation: "serve" } };
    const model = application(
      service("a", [message]),
      service("mailer", [cpu(fixed(50))], { consumer: { concurrency: 1 }, replicas: 2 }),
    );
    const rig = new Rig(model, { cores: 16, auditEvery: 1 });
    rig.engine.traffic.request(0, 0, 0);
    rig.engine.runUntil(20);
    const busy = rig.servers.find(({ inFlight }) => inFlight === 1)!;
    rig.engine.removeServer(busy);
    const other = rig.servers.find((server) => server.service === busy.service && server !== busy)!;
    rig.engine.traffic.join(other);
    rig.engine.runUntil(200);
    expect(other.main.usedUntil(200)).toBeCloseTo(50, 6);
  });

  it("a message that is delivered again begins anew, whatever failed before", () => {
    const message: StepModel = { kind: "send", call: { service: "mailer", operation: "serve" } };
    const model = application(
      service("a", [message]),
      service("mailer", [call("gone", "slow"), cpu(fixed(30))], { consumer: { concurrency: 1 } }),
      service("gone", [], { replicas: 0 }),
      service("slow", [wait(50)]),
    );
    const rig = new Rig(model, { cores: 16, auditEvery: 1 });
    rig.engine.traffic.request(0, 0, 0);
    rig.engine.runUntil(20);
    const [, first] = rig.servers;
    rig.engine.removeServer(first!);
    rig.addPod("gone", 16);
    const second = rig.addPod("mailer", 16);
    rig.engine.runUntil(200);
    expect(second.main.usedUntil(200)).toBeCloseTo(30, 6);
  });

  it("round-robin balancing gives every pod as many requests", () => {
    const model = application(service("a", [cpu(fixed(1))], { replicas: 3, balancing: "round-robin" }));
    const rig = after(model, [0, 10, 20, 30, 40, 50]);
    expect(rig.servers.map(({ taken }) => taken)).toEqual([2, 2, 2]);
  });

  it("a container over its memory limit is killed: its requests fail, calls that it made go on for nobody", () => {
    const model = application(
      service("a", [cpu(fixed(1)), call("b")], {
        memory: { baseBytes: 1e8, perRequestBytes: 1e7, leakBytesPerRequest: 0 },
      }),
      service("b", [cpu(fixed(100))]),
    );
    const rig = new Rig(model, { cores: 16, auditEvery: 1 });
    const [first] = rig.servers;
    first!.memoryLimitBytes = 1.35e8;
    for (let number = 0; number < 4; number += 1) {
      rig.engine.agenda.at(10 * number, () => rig.engine.traffic.request(0, number, number));
    }
    rig.engine.runUntil(1_000);
    expect(rig.killed).toEqual([first]);
    expect(rig.ended.map(({ failed, latencyMs }) => [failed, latencyMs])).toEqual([
      [true, 30],
      [true, 20],
      [true, 10],
      [true, 0],
    ]);
    expect(rig.servers[1]?.main.usedUntil(1_000)).toBeCloseTo(300, 6);
    expect(rig.engine.traffic.calls.used).toBe(0);
  });

  it("memory that leaks kills a container after so many requests", () => {
    const model = application(
      service("a", [cpu(fixed(1))], {
        memory: { baseBytes: 1e8, perRequestBytes: 0, leakBytesPerRequest: 1e6 },
      }),
    );
    const rig = new Rig(model);
    rig.servers[0]!.memoryLimitBytes = 1.5e8;
    for (let number = 0; number < 60; number += 1) {
      rig.engine.agenda.at(5 * number, () => rig.engine.traffic.request(0, number, number));
    }
    rig.engine.runUntil(1_000);
    expect(rig.ended.findIndex(({ failed }) => failed)).toBe(50);
  });

  it("work costs more in warm-up, after a deploy and under interference", () => {
    const model = application(
      service("a", [cpu(fixed(10))], { warmUp: { factor: 3, seconds: 10, shape: "linear" } }),
    );
    const rig = new Rig(model, { cores: 16 });
    const [server] = rig.servers;
    server!.warmFromMs = 0;
    for (const [number, atMs] of [0, 5_000, 20_000].entries()) {
      rig.engine.agenda.at(atMs, () => rig.engine.traffic.request(0, number, number));
    }
    rig.engine.agenda.at(10_000, () => {
      server!.versionFactor = 1.5;
      server!.host.demandFactor = 2;
    });
    rig.engine.runUntil(30_000);
    expect(latencies(rig).map((ms) => Math.round(ms))).toEqual([30, 20, 30]);
  });

  it("kept traces have a span for each side of a call, for what lies outside, and for messages", () => {
    const message: StepModel = { kind: "send", call: { service: "mailer", operation: "serve" } };
    const model = application(
      service("a", [cpu(fixed(2)), call("b"), wait(4), wait(8, { traced: false }), message]),
      service("b", [cpu(fixed(3))]),
      service("mailer", [cpu(fixed(1))], { consumer: { concurrency: 1 } }),
    );
    const rig = after({ ...model, networkMs: fixed(0.5) }, [0], { traced: true });
    const facts = rig.spans.map(({ kind, service: number, startMs, endMs, name }) => [
      Object.keys(SPAN_KIND)[kind],
      number,
      startMs,
      endMs,
      name,
    ]);
    expect(facts).toEqual([
      ["server", 1, 3, 6, "serve"],
      ["client", 0, 2.5, 6.5, undefined],
      ["client", 0, 6.5, 10.5, undefined],
      ["producer", 0, 18.5, 18.5, undefined],
      ["server", 0, 0.5, 18.5, "GET /"],
      ["consumer", 2, 19, 20, "serve"],
    ]);
    const byParent = new Map(rig.spans.map((span) => [span.span, span]));
    const [calleeSpan, callSpan, , sent, root, consumed] = rig.spans;
    expect(root?.parent).toBe(0);
    expect(byParent.get(calleeSpan!.parent)).toBe(callSpan);
    expect(byParent.get(callSpan!.parent)).toBe(root);
    expect(byParent.get(consumed!.parent)).toBe(sent);
    expect(new Set(rig.spans.map(({ span }) => span)).size).toBe(6);
  });

  it("demands belong to the requests: the same CPU is used whatever the number of pods", () => {
    const used = (replicas: number): number => {
      const model = application(
        service("a", [cpu(exponential(2)), call("b"), cpu(exponential(2))], { replicas, threads: 2 }),
        service("b", [cpu(lognormal(5, 1))], { threads: 2 }),
      );
      const rig = new Rig(model, { cores: 4 });
      rig.run(100, 30);
      rig.engine.runUntil(60_000);
      return rig.servers.reduce((sum, { main }) => sum + main.usedUntil(60_000), 0);
    };
    expect(used(2)).toBeCloseTo(used(5), 2);
  });

  it("what must hold holds at every event of a tangle of everything", () => {
    const rig = new Rig(tangle(), { cores: 2, auditEvery: 1, seed: 3 });
    rig.servers[2]!.memoryLimitBytes = 1.4e8;
    rig.engine.agenda.at(10_000, () => rig.engine.removeServer(rig.servers[1]!));
    rig.run(60, 20);
    expect(rig.killed.length).toBeGreaterThan(0);
    expect(rig.ended.some(({ failed }) => failed)).toBe(true);
    expect(rig.ended.some(({ failed }) => !failed)).toBe(true);
  });
});

/** Retries, pools, proxies, threads that are held, messages and memory limits, all at once. */
function tangle(): ApplicationModel {
  const sidecar = {
    name: "proxy",
    threads: 1,
    cpuRequestCores: 0.1,
    cpuLimitCores: 0.2,
    memoryRequestBytes: 5e7,
    memoryBytes: 5e7,
    inboundMs: exponential(0.5),
    outboundMs: exponential(0.5),
  };
  const model = application(
    service(
      "door",
      [
        cpu(exponential(2)),
        calling({ count: { kind: "uniform", low: 0, high: 3 }, pool: "b", timeoutMs: 40, retries: 2 }),
        { kind: "send", call: { service: "mailer", operation: "serve" } },
        calling({ optional: true, timeoutMs: 20 }, "c"),
      ],
      { replicas: 2, pools: { b: 3 }, sidecar, queueLimit: 40 },
    ),
    service("b", [cpu(exponential(4)), wait(5, { pool: "store" }), call("c")], {
      threads: 3,
      blocking: true,
      pools: { store: 2 },
      replicas: 2,
      memory: { baseBytes: 1e8, perRequestBytes: 1e6, leakBytesPerRequest: 1e5 },
    }),
    service("c", [cpu(exponential(3))], {
      container: { cpuRequestCores: 0.5, cpuLimitCores: 0.5, memoryRequestBytes: 1e8 },
      threads: 4,
    }),
    service("mailer", [cpu(exponential(8)), call("c")], { consumer: { concurrency: 2 } }),
  );
  return { ...model, networkMs: exponential(0.3) };
}
