import { contentHash } from "@tradewind/core/values/hash.ts";
import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { describe, expect, it } from "vitest";
import { exponential, fixed } from "../../simulator/model/distribution.ts";
import type { ServiceModel } from "../../simulator/model/application-model.ts";
import type { ClusterModel } from "../../simulator/model/plant-model.ts";
import type { PodPhase, World } from "../../simulator/world.ts";
import { application, call, cpu, service } from "./rig.ts";
import { at, worldOf } from "./plant-rig.ts";

const GIB = 2 ** 30;

/** One service of one-core containers that work 10 ms a request. */
const one = (rest: Partial<ServiceModel> = {}): ReturnType<typeof application> =>
  application(
    service("web", [cpu(fixed(10))], {
      container: { cpuRequestCores: 1, cpuLimitCores: 2, memoryRequestBytes: GIB, memoryLimitBytes: 2 * GIB },
      threads: 8,
      ...rest,
    }),
  );

const cluster = (rest: Partial<ClusterModel> = {}): ClusterModel => ({
  nodes: 4,
  nodeCores: 8,
  nodeMemoryBytes: 32 * GIB,
  podStartMs: fixed(10_000),
  ...rest,
});

const phases = (world: World): PodPhase[] => world.pods("web").map(({ phase }) => phase);
const total = (world: World): number => world.account().routes[0]?.requests ?? 0;
const failed = (world: World): number => world.account().routes[0]?.failed ?? 0;

describe("cluster", () => {
  it("spreads pods over nodes, the one with the most left first", () => {
    const world = worldOf(one({ replicas: 8 }), { model: { cluster: cluster() } });
    const nodes = world.pods("web").map(({ node }) => node);
    for (const name of ["node-0", "node-1", "node-2", "node-3"]) {
      expect(nodes.filter((each) => each === name)).toHaveLength(2);
    }
  });

  it("a pod starts, is ready after its start time and takes requests from then on", () => {
    const world = worldOf(one(), { model: { load: () => 50 } });
    world.advanceTo(at(20));
    world.setReplicas("web", 2);
    world.advanceTo(at(29.9));
    expect(phases(world)).toEqual(["ready", "starting"]);
    expect(world.workloads().workloads[0]).toMatchObject({ replicasWanted: 2, replicasReady: 1 });
    world.advanceTo(at(75));
    expect(phases(world)).toEqual(["ready", "ready"]);
    const [, second] = world.pods("web");
    expect(second).toMatchObject({ createdAtMs: at(20), readyAtMs: at(30) });
    expect(second?.cpuUsageCores).toBeGreaterThan(0.2);
    expect(second?.cpuUsageCores).toBeLessThan(0.3);
  });

  it("a pod waits while no node has its requests, and starts when one has", () => {
    const world = worldOf(one({ replicas: 2 }), { model: { cluster: cluster({ nodes: 1, nodeCores: 3 }) } });
    world.setReplicas("web", 4);
    world.advanceTo(at(30));
    expect(phases(world)).toEqual(["ready", "ready", "ready", "pending"]);
    expect(world.workloads().workloads[0]?.podsUnscheduled).toBe(1);
    world.setReplicas("web", 3);
    world.advanceTo(at(60));
    expect(phases(world)).toEqual(["ready", "ready", "ready"]);
  });

  it("pods wait while the memory of a node is full, whatever CPU is left", () => {
    const world = worldOf(one({ replicas: 5 }), {
      model: { cluster: cluster({ nodes: 1, nodeMemoryBytes: 4 * GIB }) },
    });
    world.advanceTo(at(30));
    expect(phases(world).filter((phase) => phase === "pending")).toHaveLength(1);
  });

  it("scaling down takes the pod that became ready last and lets it finish its requests", () => {
    const model = application(service("web", [{ kind: "wait", dependency: "store", time: fixed(5_000) }]));
    const world = worldOf(model, { model: { load: (second) => (second < 41 ? 20 : 0) } });
    world.setReplicas("web", 2);
    world.advanceTo(at(40));
    world.setReplicas("web", 1);
    expect(world.pods("web").map(({ name, phase }) => [name, phase])).toEqual([
      ["web-0", "ready"],
      ["web-1", "draining"],
    ]);
    world.advanceTo(at(50));
    expect(world.pods("web").map(({ name }) => name)).toEqual(["web-0"]);
    expect(failed(world)).toBe(0);
    expect(world.account()).toMatchObject({ starts: 2, stops: 1 });
  });

  it("a pod that drains longer than it may is killed with its requests", () => {
    const model = application(service("web", [{ kind: "wait", dependency: "store", time: fixed(60_000) }]));
    const world = worldOf(model, { model: { load: (second) => (second < 20 ? 5 : 0) } });
    world.advanceTo(at(20));
    world.setReplicas("web", 0);
    world.advanceTo(at(49));
    expect(failed(world)).toBe(0);
    world.advanceTo(at(51));
    expect(world.pods("web")).toEqual([]);
    expect(failed(world)).toBe(total(world));
    expect(failed(world)).toBeGreaterThan(70);
  });

  it("a rolling update replaces all pods, keeps three quarters of them ready and changes what requests cost", () => {
    const world = worldOf(one({ replicas: 4 }), {
      model: {
        load: () => 100,
        incidents: [{ kind: "deploy", atSeconds: 60, service: "web", demandFactor: 3 }],
      },
    });
    world.advanceTo(at(59.99));
    const usedBefore = world.account().usedCoreSeconds;
    const before = new Set(world.pods("web").map(({ name }) => name));
    let least = Infinity;
    let most = 0;
    for (let second = 61; second <= 180; second += 1) {
      world.advanceTo(at(second));
      least = Math.min(least, phases(world).filter((phase) => phase === "ready").length);
      most = Math.max(most, phases(world).filter((phase) => phase !== "draining").length);
    }
    expect(least).toBe(3);
    expect(most).toBe(5);
    expect(world.pods("web").filter(({ name }) => before.has(name))).toEqual([]);
    expect(phases(world)).toEqual(["ready", "ready", "ready", "ready"]);
    expect(failed(world)).toBe(0);
    world.advanceTo(at(240));
    const usedAfter = (world.account().usedCoreSeconds - usedBefore) / 180;
    expect(usedAfter / (usedBefore / 60)).toBeGreaterThan(2.4);
  });

  it("a resize in place takes effect at once, keeps the ratio of limit to request and restarts nothing", () => {
    const world = worldOf(one({ replicas: 2 }));
    world.advanceTo(at(10));
    world.resize("web", { cpuCores: 2 }, "in-place");
    expect(world.pods("web")).toMatchObject(
      Array.from({ length: 2 }, () => ({
        phase: "ready",
        cpuRequestCores: 2,
        cpuLimitCores: 4,
        memoryRequestBytes: GIB,
        memoryLimitBytes: 2 * GIB,
      })),
    );
    expect(world.account()).toMatchObject({ starts: 2, stops: 0 });
  });

  it("a resize in place waits until the node has it", () => {
    const world = worldOf(one({ replicas: 2 }), { model: { cluster: cluster({ nodes: 1, nodeCores: 3 }) } });
    world.resize("web", { cpuCores: 2 }, "in-place");
    expect(world.pods("web").map(({ cpuRequestCores }) => cpuRequestCores)).toEqual([2, 1]);
    world.advanceTo(at(10));
    world.setReplicas("web", 1);
    world.advanceTo(at(30));
    expect(world.pods("web").map(({ name, cpuRequestCores }) => [name, cpuRequestCores])).toEqual([
      ["web-0", 2],
    ]);
  });

  it("a memory limit is not lowered below what is in use", () => {
    const memory = { baseBytes: GIB, perRequestBytes: 0, leakBytesPerRequest: 0 };
    const world = worldOf(one({ memory }));
    world.resize("web", { memoryBytes: GIB / 4 }, "in-place");
    expect(world.pods("web")[0]?.memoryLimitBytes).toBe(2 * GIB);
    world.resize("web", { memoryBytes: 0.75 * GIB }, "in-place");
    expect(world.pods("web")[0]?.memoryLimitBytes).toBe(1.5 * GIB);
  });

  it("a resize by recreation rolls the Deployment", () => {
    const world = worldOf(one({ replicas: 2 }));
    world.resize("web", { cpuCores: 0.5 }, "recreate");
    world.advanceTo(at(5));
    expect(world.pods("web").map(({ cpuRequestCores }) => cpuRequestCores)).toEqual([1, 1, 0.5]);
    world.advanceTo(at(60));
    expect(world.pods("web").map(({ cpuRequestCores }) => cpuRequestCores)).toEqual([0.5, 0.5]);
    expect(world.account()).toMatchObject({ starts: 4, stops: 2 });
  });

  it("a container over its memory limit starts again at once, then after 10 and 20 s", () => {
    const memory = { baseBytes: GIB, perRequestBytes: 0, leakBytesPerRequest: GIB / 100 };
    const world = worldOf(one({ memory }), {
      model: { load: () => 20, cluster: cluster({ podStartMs: fixed(5_000) }) },
    });
    const readyAt = new Set<number>();
    for (let second = 1; second <= 90; second += 1) {
      world.advanceTo(at(second));
      for (const { readyAtMs } of world.pods("web")) readyAt.add(Math.round((readyAtMs ?? 0) - at(0)) / 1e3);
    }
    const [first = 0, second = 0, third = 0] = [...readyAt].slice(1);
    // About 5 s of serving at 20 requests a second, 100 requests to fill the limit, then 5 s to start.
    expect(first).toBeGreaterThan(8);
    expect(first).toBeLessThan(12);
    expect(second - first).toBeGreaterThan(18);
    expect(second - first).toBeLessThan(23);
    expect(third - second).toBeGreaterThan(28);
    expect(third - second).toBeLessThan(33);
    expect(world.account().oomKills).toBeGreaterThanOrEqual(3);
    expect(world.pods("web")[0]?.oomKills).toBe(world.account().oomKills);
    expect(failed(world)).toBeGreaterThan(0);
  });

  it("calls to the pods of a lost node fail until the cluster replaces them", () => {
    const world = worldOf(one({ replicas: 4 }), {
      model: { load: () => 100, incidents: [{ kind: "node-loss", atSeconds: 60, node: 1 }] },
    });
    world.advanceTo(at(60));
    world.advanceTo(at(99));
    const during = failed(world);
    expect(during / 3_900).toBeGreaterThan(0.2);
    expect(during / 3_900).toBeLessThan(0.3);
    world.advanceTo(at(120));
    const after = failed(world);
    world.advanceTo(at(180));
    expect(failed(world)).toBe(after);
    expect(world.pods("web")).toHaveLength(4);
    expect(world.pods("web").every(({ node }) => node !== "node-1")).toBe(true);
    expect(world.workloads().nodes?.map(({ name }) => name)).not.toContain("node-1");
  });

  it("nodes are added for pods that wait, and removed when they carry none", () => {
    const world = worldOf(one({ replicas: 2 }), {
      model: {
        cluster: cluster({
          nodes: 1,
          nodeCores: 2,
          nodeAutoscaler: { maxNodes: 3, startSeconds: 60, idleSeconds: 120 },
        }),
      },
    });
    world.setReplicas("web", 8);
    world.advanceTo(at(180));
    expect(world.workloads().nodes).toHaveLength(3);
    expect(world.account().nodeCoreSeconds).toBe(2 * (180 + 120 + 60));
    expect(phases(world).filter((phase) => phase === "ready")).toHaveLength(6);
    world.setReplicas("web", 2);
    world.advanceTo(at(360));
    expect(world.workloads().nodes).toHaveLength(1);
  });

  it("interference makes requests cost more on its nodes while it lasts", () => {
    const world = worldOf(one(), {
      model: {
        load: () => 20,
        incidents: [
          {
            kind: "interference",
            atSeconds: 60,
            untilSeconds: 120,
            factor: 2,
            cpu: 0.4,
            memoryBandwidth: 0.6,
          },
        ],
      },
    });
    const used = [60, 120, 180].map((second) => {
      world.advanceTo(at(second));
      return world.account();
    });
    const perRequest = used.map(({ routes, usedCoreSeconds }, index) => {
      const before = used[index - 1];
      const requests = (routes[0]?.requests ?? 0) - (before?.routes[0]?.requests ?? 0);
      return (usedCoreSeconds - (before?.usedCoreSeconds ?? 0)) / requests;
    });
    for (const [index, seconds] of [0.01, 0.02, 0.01].entries())
      expect(perRequest[index]).toBeCloseTo(seconds, 4);
  });

  it("counts what pods hold from the moment a node takes them until they are gone", () => {
    const world = worldOf(one({ replicas: 1 }));
    world.advanceTo(at(100));
    world.setReplicas("web", 3);
    world.advanceTo(at(200));
    world.setReplicas("web", 1);
    world.advanceTo(at(300));
    // Idle pods are gone a second after they are told to end.
    const podSeconds = 300 + 2 * 101;
    expect(world.account()).toMatchObject({
      podSeconds,
      requestCoreSeconds: podSeconds,
      limitCoreSeconds: 2 * podSeconds,
      requestByteSeconds: podSeconds * GIB,
      limitByteSeconds: 2 * podSeconds * GIB,
      nodeCoreSeconds: 4 * 8 * 300,
    });
  });

  it("describes itself as the predictor's source does", () => {
    const world = worldOf(one({ replicas: 2 }));
    world.setReplicas("web", 3);
    world.advanceTo(at(5));
    const list = WorkloadList.parse(world.workloads());
    expect(list.workloads[0]).toMatchObject({
      replicasWanted: 3,
      replicasReady: 2,
      minReplicas: 1,
      maxReplicas: 50,
    });
    expect(list.workloads[0]?.pods.map(({ ready }) => ready)).toEqual([true, true, false]);
    for (const { containers, startedAtMs } of list.workloads[0]?.pods ?? []) {
      expect(startedAtMs).toBeDefined();
      expect(containers.map((each) => each.startedAtMs)).toEqual([startedAtMs]);
    }
    expect(list.nodes).toHaveLength(4);
  });

  it("rejects services that do not exist and time that runs backwards", () => {
    const world = worldOf(one());
    world.advanceTo(at(10));
    expect(() => world.advanceTo(at(9))).toThrow(RangeError);
    expect(() => world.setReplicas("wen", 2)).toThrow("there is no service 'wen'");
    expect(() => world.setReplicas("web", 1.5)).toThrow(RangeError);
  });
});

describe("determinism", () => {
  const run = (seed: number, act: (world: World) => void): World => {
    const model = application(
      service("web", [cpu(exponential(3)), call("back"), cpu(exponential(3))], { replicas: 2, threads: 8 }),
      service("back", [cpu(exponential(8))], { replicas: 2, threads: 1 }),
    );
    const world = worldOf(model, { seed, model: { load: () => 60, seconds: 120 } });
    world.advanceTo(at(30));
    act(world);
    world.advanceTo(at(150));
    return world;
  };
  const hashOf = (world: World): string => {
    // The buckets of every histogram are in it.
    return contentHash(JSON.stringify(world.account()));
  };

  it("the same seed and actions give the same account, another seed another one", () => {
    const grow = (world: World): void => world.setReplicas("back", 4);
    expect(hashOf(run(1, grow))).toBe(hashOf(run(1, grow)));
    expect(hashOf(run(1, grow))).not.toBe(hashOf(run(2, grow)));
  });

  it("policies meet the same requests: as many of them, with the same demands", () => {
    const one = run(1, () => undefined);
    const other = run(1, (world) => world.setReplicas("back", 6));
    expect(total(one)).toBe(total(other));
    expect(one.account().usedCoreSeconds).toBeCloseTo(other.account().usedCoreSeconds, 6);
    expect(one.account().routes[0]?.sumSeconds).toBeGreaterThan(
      other.account().routes[0]?.sumSeconds ?? Infinity,
    );
  });
});
