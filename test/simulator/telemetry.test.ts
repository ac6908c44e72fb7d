import { WindowSet } from "@tradewind/core/contract/window.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import { describe, expect, it } from "vitest";
import { LatencyHistogram } from "@tradewind/core/measure/latency-histogram.ts";
import { fixed, lognormal } from "../../simulator/model/distribution.ts";
import type { StepModel } from "../../simulator/model/application-model.ts";
import type { World } from "../../simulator/world.ts";
import { application, call, cpu, service } from "./rig.ts";
import { at, worldOf } from "./plant-rig.ts";
import type { WorldParts } from "./plant-rig.ts";

const outside = (ms: number, traced: boolean): StepModel => ({
  kind: "wait",
  dependency: "store",
  time: fixed(ms),
  traced,
});

/** A door that calls two services at once and then a third, on many cores: nothing ever waits for a CPU. */
const calm = {
  ...application(
    service("door", [cpu(fixed(2)), call("left", "right"), outside(7, true), call("last"), cpu(fixed(1))]),
    service("left", [cpu(fixed(4))], { replicas: 2 }),
    service("right", [cpu(fixed(6)), outside(3, false)]),
    service("last", [cpu(fixed(5))], { threads: 64 }),
  ),
  networkMs: fixed(0.25),
};

const CLUSTER = { nodes: 1, nodeCores: 256, nodeMemoryBytes: 64e9, podStartMs: fixed(10_000) };

function calmWorld(parts: WorldParts = {}): World {
  return worldOf(calm, {
    ...parts,
    model: { load: () => 40, seconds: 300, cluster: CLUSTER, ...parts.model },
  });
}

/** The windows of consecutive intervals of 15 s from the start on, each read 10 s after its end. */
function windowsOf(world: World, count: number, act: (index: number) => void = () => undefined): WindowSet[] {
  return Array.from({ length: count }, (_, index) => {
    world.advanceTo(at(15 * (index + 1) + 10));
    const set = world.windowSet(at(15 * index), at(15 * (index + 1)));
    act(index);
    return set;
  });
}

const windowOf = (set: WindowSet | undefined, name: string): Window => {
  const found = set?.windows.find((each) => each.service === name);
  if (found === undefined) throw new Error(`no window of ${name}`);
  return found;
};

describe("windows of a simulated application", () => {
  it("are windows as the contract has them, one for each service and a flow for each route", () => {
    for (const set of windowsOf(calmWorld(), 3)) {
      expect(WindowSet.parse(set)).toEqual(set);
      expect(set.windows.map(({ service: name }) => name)).toEqual(["door", "last", "left", "right"]);
      expect(set.flows.map(({ flow }) => flow)).toEqual(["GET /"]);
    }
  });

  it("say how the door's calls are arranged, and which program all pods run", () => {
    const [, set] = windowsOf(calmWorld(), 2);
    const stage = (...callees: string[]) => ({
      caller: "door",
      perRequest: 1,
      steps: 1,
      calls: callees.map((callee) => ({ callee, calls: 1 })),
    });
    expect(set?.flows[0]?.stages).toEqual([stage("last"), stage("left", "right")]);
    expect(windowOf(set, "left")).toMatchObject({ revision: "v0", newestRevisionShare: 1 });
    expect(windowOf(set, "left").containers.map(({ name }) => name)).toEqual(["left", "left"]);
  });

  it("count the requests that ended in them", () => {
    const world = calmWorld();
    const requests: number[] = [0];
    for (let second = 15; second <= 60; second += 15) {
      world.advanceTo(at(second) - 1e-3);
      requests.push(world.account().routes[0]?.requests ?? 0);
    }
    world.advanceTo(at(70));
    for (let index = 0; index < 4; index += 1) {
      const set = world.windowSet(at(15 * index), at(15 * (index + 1)));
      const ended = (requests[index + 1] ?? 0) - (requests[index] ?? 0);
      expect(windowOf(set, "door").requestsPerSecond).toBeCloseTo(ended / 15, 9);
      expect(set.flows[0]?.latency.count).toBe(ended);
    }
  });

  it("give the self time: CPU and what is not traced, without calls and the store", () => {
    const [, set] = windowsOf(calmWorld(), 2);
    for (const [name, ms] of [
      ["door", 3],
      ["left", 4],
      ["right", 9],
      ["last", 5],
    ] as const) {
      expect(windowOf(set, name).ownLatency?.meanSeconds).toBeCloseTo(ms / 1e3, 6);
      expect(Math.abs((windowOf(set, name).ownLatency?.p95Seconds ?? 0) / (ms / 1e3) - 1)).toBeLessThan(
        0.011,
      );
    }
    // 2 + (9 + 0.5) + 7 + (5 + 0.5) + 1
    expect(windowOf(set, "door").responseLatency?.meanSeconds).toBeCloseTo(0.025, 6);
  });

  it("give the calls: rates, what ran side by side, and the way there and back", () => {
    const [, set] = windowsOf(calmWorld(), 2);
    const door = windowOf(set, "door");
    expect(door.callees.map(({ callee, parallelRatio }) => [callee, parallelRatio])).toEqual([
      ["last", 0],
      ["left", 1],
      ["right", 1],
    ]);
    for (const { callsPerSecond, transitSeconds } of door.callees) {
      expect(callsPerSecond).toBeCloseTo(door.requestsPerSecond ?? 0, 9);
      expect(transitSeconds).toBeCloseTo(0.0005, 6);
    }
    expect(set?.flows[0]?.calls).toEqual(
      ["last", "left", "right"].map((callee) => ({
        caller: "door",
        callee,
        callsPerRequest: 1,
        parallelRatio: callee === "last" ? 0 : 1,
      })),
    );
  });

  it("give the CPU of every container: requests times demand, and together what the account says", () => {
    const world = calmWorld();
    const sets = windowsOf(world, 4);
    for (const [name, ms] of [
      ["door", 3],
      ["left", 4],
      ["right", 6],
      ["last", 5],
    ] as const) {
      for (const set of sets.slice(1)) {
        const window = windowOf(set, name);
        const cores = window.containers.reduce((sum, { cpuUsageCores = NaN }) => sum + cpuUsageCores, 0);
        // A request may work in one window and end in the next one.
        expect(Math.abs(cores - ((window.requestsPerSecond ?? 0) * ms) / 1e3)).toBeLessThan((2 * ms) / 15e3);
      }
    }
    world.advanceTo(at(120));
    const total = sets.flatMap(({ windows }) => windows).flatMap(({ containers }) => containers);
    const used = total.reduce((sum, { cpuUsageCores = NaN }) => sum + 15 * cpuUsageCores, 0);
    const fresh = calmWorld();
    fresh.advanceTo(at(60));
    expect(used).toBeCloseTo(fresh.account().usedCoreSeconds, 6);
    expect(windowOf(sets[1], "left").containers).toHaveLength(2);
  });

  it("give the throttled share of periods: a job of 120 ms on half a core is throttled in two of three", () => {
    const container = { cpuRequestCores: 0.5, cpuLimitCores: 0.5, memoryRequestBytes: 1e8 };
    const world = worldOf(application(service("door", [cpu(fixed(120))], { container, threads: 1 })), {
      model: { load: () => 0.4 },
    });
    const sets = windowsOf(world, 12);
    const ratios = sets.flatMap(({ windows }) => windows[0]?.containers[0]?.cpuThrottledRatio ?? []);
    expect(ratios.length).toBeGreaterThan(8);
    const mean = ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length;
    // A job takes 3 periods and is throttled in 2, or begins with less than 20 ms of a period left and takes 4.
    expect(mean).toBeGreaterThan(0.5);
    expect(mean).toBeLessThan(0.75);
  });

  it("stand for all requests when a tenth of the traces is kept, if the spans say so or not", () => {
    for (const statesRatio of [true, false]) {
      const world = calmWorld({
        model: { load: () => 400, telemetry: { sampledRatio: 0.1, spanDelaySeconds: 1, statesRatio } },
      });
      const sets = windowsOf(world, 6);
      const rates = sets.map((set) => windowOf(set, "door").requestsPerSecond ?? 0);
      const mean = rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
      // 3,600 kept traces: 1.7 % of standard deviation.
      expect(Math.abs(mean / 400 - 1)).toBeLessThan(0.05);
      expect(windowOf(sets[2], "left").ownLatency?.meanSeconds).toBeCloseTo(0.004, 6);
    }
  });

  it("miss requests whose spans come after the window was read", () => {
    const world = calmWorld({ model: { telemetry: { sampledRatio: 1, spanDelaySeconds: 14 } } });
    const [, set] = windowsOf(world, 2);
    expect(windowOf(set, "door").requestsPerSecond).toBeLessThan(0.8 * 40);
  });

  it("have no traffic without traces, no use while metrics are out, and NaN where numbers are bad", () => {
    const world = calmWorld({
      faults: {
        traceOutages: [{ startSeconds: 30, endSeconds: 47 }],
        metricOutages: [{ startSeconds: 60, endSeconds: 80 }],
        nanWindows: [{ startSeconds: 105, endSeconds: 120 }],
      },
    });
    const shown: (number | undefined)[] = [];
    const sets = windowsOf(world, 8, () => shown.push(world.pods("door")[0]?.cpuUsageCores));
    const doors = sets.map((set) => windowOf(set, "door"));
    expect(doors.findIndex(({ requestsPerSecond }) => requestsPerSecond === undefined)).toBe(2);
    expect(doors.findLastIndex(({ requestsPerSecond }) => requestsPerSecond === undefined)).toBe(2);
    const isUnused = ({ containers: [each] }: Window): boolean => each?.cpuUsageCores === undefined;
    expect([doors.findIndex(isUnused), doors.findLastIndex(isUnused)]).toEqual([4, 4]);
    expect(doors[7]?.requestsPerSecond).toBeNaN();
    expect(doors[7]?.containers[0]?.cpuUsageCores).toBeNaN();
    expect(doors[6]?.containers[0]?.cpuUsageCores).toBeCloseTo(0.12, 1);
    // Read at 25, 40, … 130 s: gone at the failed scrapes of 60 and 75 s, back at 105 s, the second good one.
    expect([shown.indexOf(undefined), shown.lastIndexOf(undefined)]).toEqual([3, 5]);
  });

  it("have no CPU of a pod that became ready in their second half, and all of it from the next window on", () => {
    const world = calmWorld({ model: { cluster: { ...CLUSTER, podStartMs: fixed(13_000) } } });
    // Asked for at 25 s, ready at 38 s: read at 40 and 45 s, a third of the window.
    const sets = windowsOf(world, 4, (index) => {
      if (index === 0) world.setReplicas("last", 2);
    });
    const used = sets.map((set) =>
      windowOf(set, "last").containers.map(({ cpuUsageCores }) => cpuUsageCores !== undefined),
    );
    expect(used.slice(2)).toEqual([
      [true, false],
      [true, true],
    ]);
  });

  it("list every container of a pod, the proxy beside the main one", () => {
    const sidecar = {
      name: "proxy",
      threads: 2,
      cpuRequestCores: 0.1,
      cpuLimitCores: 2,
      memoryRequestBytes: 5e7,
      memoryBytes: 6e7,
      inboundMs: fixed(1),
    };
    const world = worldOf(application(service("door", [cpu(fixed(5))], { sidecar })), {
      model: { load: () => 50 },
    });
    const [, set] = windowsOf(world, 2);
    const window = windowOf(set, "door");
    const rate = window.requestsPerSecond ?? 0;
    expect(window.containers.map(({ podName }) => podName)).toEqual(["door-0", "door-0"]);
    const [main, proxy] = window.containers;
    expect(main?.cpuUsageCores).toBeCloseTo(0.005 * rate, 2);
    expect(proxy?.cpuUsageCores).toBeCloseTo(0.001 * rate, 2);
    expect(proxy).toMatchObject({ cpuLimitCores: 2, memoryWorkingSetBytes: 6e7 });
    expect(window.ownLatency?.meanSeconds).toBeCloseTo(0.006, 4);
    world.advanceTo(at(61));
    expect(world.pods("door")[0]?.sidecars[0]?.cpuUsageCores).toBeCloseTo(0.05, 1);
  });

  it("tell of interference as long as it lasts", () => {
    const world = calmWorld({
      model: {
        incidents: [
          {
            kind: "interference",
            atSeconds: 22.5,
            untilSeconds: 45,
            factor: 1.5,
            cpu: 0.6,
            memoryBandwidth: 0.2,
          },
        ],
      },
    });
    const values = windowsOf(world, 4).map((set) => windowOf(set, "last").containers[0]?.interference);
    expect(values.map((value) => value?.cpu.value)).toEqual([0, 0.3, 0.6, 0]);
    expect(values[2]?.memoryBandwidth.value).toBeCloseTo(0.2, 9);
    expect(values[2]?.network).toEqual({ supported: false });
  });

  it("a window of a service under load has its p95 within the sketch's error", () => {
    const world = worldOf(
      application(
        service("door", [cpu(lognormal(5, 1))], {
          container: { cpuRequestCores: 1, cpuLimitCores: 1, memoryRequestBytes: 1e8 },
          threads: 8,
        }),
      ),
      { model: { load: () => 140 } },
    );
    world.advanceTo(at(45));
    const before = world.account().routes[0]!.latency;
    world.advanceTo(at(60) - 1e-3);
    const truth = world.account().routes[0]!.latency.since(before);
    world.advanceTo(at(70));
    for (let index = 0; index < 3; index += 1) world.windowSet(at(15 * index), at(15 * (index + 1)));
    const window = windowOf(world.windowSet(at(45), at(60)), "door");
    expect(window.responseLatency?.count).toBe(truth.count);
    expect(
      Math.abs((window.responseLatency?.p95Seconds ?? 0) / truth.quantileSeconds(0.95) - 1),
    ).toBeLessThan(0.02);
    expect(window.ownLatency?.meanSeconds).toBeCloseTo(truth.meanSeconds, 6);
  });
});

describe("account", () => {
  it("has the latencies of two routes together, and the rest when one is taken off again", () => {
    const [quick, slow] = [new LatencyHistogram(), new LatencyHistogram()];
    for (let at = 0; at < 90; at += 1) quick.add(10);
    for (let at = 0; at < 10; at += 1) slow.add(1_000);
    const both = quick.with(slow);
    expect(both).toMatchObject({ count: 100, meanSeconds: 0.109 });
    expect(both.quantileSeconds(0.9)).toBeCloseTo(0.01, 3);
    expect(both.quantileSeconds(0.91)).toBeCloseTo(1, 2);
    expect(both.since(quick).quantileSeconds(0.01)).toBeCloseTo(1, 2);
    expect(quick.count).toBe(90);
  });

  it("judges minutes by the objective's percentile, a failed request as slower than any", () => {
    const model = application(service("door", [outside(80, true)], { queueLimit: 12 }));
    const world = worldOf(model, { model: { load: (second) => (second < 60 ? 40 : 160) } });
    world.advanceTo(at(180));
    const account = world.account();
    const [route] = account.routes;
    expect(route?.minutes).toHaveLength(3);
    const [first, second] = route!.minutes;
    expect(first).toMatchObject({ startMs: at(0), failed: 0, over: 0 });
    expect(first?.percentileSeconds).toBeCloseTo(0.08, 3);
    expect(second?.failed).toBeGreaterThan(0.05 * (second?.requests ?? 0));
    expect(second?.percentileSeconds).toBe(Infinity);
    expect([account.minutes, account.minutesOver, route?.minutesOver]).toEqual([3, 2, 2]);
    expect(route?.over).toBe(route?.failed);
  });

  it("judges each route by its own objective", () => {
    const model = application(service("door", [outside(80, true)]));
    const routes = [
      { name: "GET /fast", service: "door", operation: "serve", share: 0.75, objectiveMs: 50 },
      { name: "GET /slow", service: "door", operation: "serve", share: 0.25 },
    ];
    const world = worldOf({ ...model, routes }, { model: { load: () => 20 } });
    world.advanceTo(at(120));
    const [fast, slow] = world.account().routes;
    expect(fast).toMatchObject({ objectiveSeconds: 0.05, minutesOver: 2, over: fast?.requests });
    expect(slow).toMatchObject({ objectiveSeconds: 0.1, minutesOver: 0, over: 0 });
    expect((fast?.requests ?? 0) / ((fast?.requests ?? 0) + (slow?.requests ?? 1))).toBeCloseTo(0.75, 1);
  });
});
