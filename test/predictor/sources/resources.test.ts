import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type { Workload, WorkloadList, WorkloadPod } from "@tradewind/core/contract/workload.ts";
import { describe, expect, it } from "vitest";
import { cpuLeft } from "@tradewind/predictor/nodes/node-room.ts";
import { resourceView, roomByNodeClass } from "@tradewind/predictor/sources/resources.ts";

const START = 1_750_000_005_000;
const INTERVAL = { startMs: START, endMs: START + 15_000 };
const NOW = START + 20_000;
const USE = { node: "n", cpuUsageCores: 0.5, cpuThrottledRatio: 0.1, memoryWorkingSetBytes: 1e6 };

const pod = (name: string, overrides: Partial<WorkloadPod> = {}): WorkloadPod => ({
  uid: `uid-${name}`,
  name,
  node: "n",
  ready: true,
  startedAtMs: START - 60_000,
  containers: [{ id: `docker://${name}-id`, name: "main", cpuLimitCores: 1 }],
  ...overrides,
});
const workload = (pods: WorkloadPod[], overrides: Partial<Workload> = {}): Workload => ({
  namespace: "shop",
  kind: "Deployment",
  name: "geo",
  service: "geo",
  replicasWanted: pods.length,
  replicasReady: pods.filter(({ ready }) => ready).length,
  pods,
  ...overrides,
});
const list = (...workloads: Workload[]): WorkloadList => ({
  schema: WORKLOADS_SCHEMA,
  observedAtMs: START,
  workloads,
});

describe("resources by service", () => {
  it("say how many pods no node has taken, of all workloads that carry the service", () => {
    const both = list(
      workload([pod("geo-0")], { podsUnscheduled: 2 }),
      workload([pod("geo-v2-0")], { name: "geo-v2", podsUnscheduled: 1 }),
    );
    expect(resourceView(both, new Map(), INTERVAL, NOW).services.get("geo")?.podsUnscheduled).toBe(3);
    const silent = resourceView(list(workload([pod("geo-0")])), new Map(), INTERVAL, NOW);
    expect(silent.services.get("geo")?.podsUnscheduled).toBeUndefined();
  });

  it("say what CPU is left where the fullest of their nodes is, by the requests of all pods there, ready or not", () => {
    const asks = (name: string, node: string, cpuRequestCores: number, ready = true): WorkloadPod =>
      pod(name, { node, ready, containers: [{ id: name, name: "main", cpuRequestCores }] });
    const nodes = [
      { name: "a", schedulable: true, cpuCores: 2 },
      { name: "b", schedulable: true, cpuCores: 4 },
    ];
    const geo = workload([asks("geo-0", "a", 0.5), asks("geo-1", "b", 0.5)]);
    const rate = workload([asks("rate-0", "a", 0.25), asks("rate-1", "a", 0.5, false)], {
      name: "rate",
      service: "rate",
    });
    const { services } = resourceView({ ...list(geo, rate), nodes }, new Map(), INTERVAL, NOW);
    expect(services.get("geo")?.nodeRoomCores).toBe(0.75);
    const elsewhere = resourceView({ ...list(geo), nodes: nodes.slice(1) }, new Map(), INTERVAL, NOW);
    expect(elsewhere.services.get("geo")?.nodeRoomCores).toBeUndefined();
  });

  it("say the class of each container's node where nodes differ, and what nodes that take pods have left by class", () => {
    const nodes = [
      { name: "a", schedulable: true, cpuCores: 2, instanceType: "old" },
      { name: "b", schedulable: true, cpuCores: 4, instanceType: "new" },
      { name: "c", schedulable: false, cpuCores: 8, instanceType: "new" },
    ];
    const asking = pod("geo-0", { node: "a", containers: [{ id: "x", name: "main", cpuRequestCores: 0.5 }] });
    const known = { ...list(workload([asking])), nodes };
    const classOf = (of: WorkloadList) =>
      resourceView(of, new Map(), INTERVAL, NOW).services.get("geo")?.containers[0]?.nodeClass;
    expect(classOf(known)).toBe("old");
    expect(classOf({ ...known, nodes: nodes.slice(0, 1) })).toBeUndefined();
    const classes = new Map(nodes.map(({ instanceType, name }) => [name, instanceType]));
    const rooms = cpuLeft(known);
    expect(roomByNodeClass(known, { classes, rooms })).toEqual({ old: 1.5, new: 4 });
    expect(roomByNodeClass(known, { classes: new Map(), rooms })).toBeUndefined();
  });

  it("name containers, mark sidecars and say when each started", () => {
    const containers = [
      { id: "a", name: "main", startedAtMs: START - 5_000 },
      { id: "b", name: "istio-proxy", sidecar: true as const },
    ];
    const view = resourceView(list(workload([pod("geo-0", { containers })])), new Map(), INTERVAL, NOW);
    expect(view.services.get("geo")?.containers).toEqual([
      { id: "a", name: "main", startedAtMs: START - 5_000, podName: "geo-0", node: "n" },
      { id: "b", name: "istio-proxy", sidecar: true, podName: "geo-0", node: "n" },
    ]);
  });

  it("say when the start of a container was over, where readiness is known and nearer to it than five minutes", () => {
    const containers = [{ id: "a", name: "main", startedAtMs: START - 90_000 }];
    const startOf = (readyAtMs: number): number | undefined =>
      resourceView(
        list(workload([pod("geo-0", { containers, readyAtMs })])),
        new Map(),
        INTERVAL,
        NOW,
      ).services.get("geo")?.containers[0]?.startedAtMs;
    expect(startOf(START - 40_000)).toBe(START - 40_000);
    expect(startOf(START - 100_000)).toBe(START - 90_000);
    expect(startOf(START + 400_000)).toBe(START - 90_000);
  });

  it("state the share of ready pods that run the newest program, and nothing where a pod does not say", () => {
    const running = (...revisions: (string | undefined)[]) => {
      const pods = revisions.map((revision, index) => pod(`geo-${index}`, revision ? { revision } : {}));
      const unready = pod("geo-9", { ready: false, revision: "old" });
      const view = resourceView(
        list(workload([...pods, unready], { revision: "new" })),
        new Map(),
        INTERVAL,
        NOW,
      );
      const { newestRevisionShare, revision } = view.services.get("geo")!;
      return { newestRevisionShare, revision };
    };
    expect(running("old", "old", "new", "old")).toEqual({ revision: "new", newestRevisionShare: 0.25 });
    expect(running("new", undefined)).toEqual({});
    expect(running()).toEqual({ revision: "new" });
  });

  it("count a kill that restarted the container in the window in which the pod is ready again, and in no other", () => {
    const containers = [{ id: "a", name: "main", oomKilledAtMs: START - 4_000 }];
    const killed = list(workload([pod("geo-0", { containers, readyAtMs: START + 9_000 })]));
    const killsFrom = (startMs: number): number | undefined =>
      resourceView(killed, new Map(), { startMs, endMs: startMs + 15_000 }, startMs + 20_000).services.get(
        "geo",
      )?.containers[0]?.oomKills;
    expect([-15_000, 0, 15_000].map((ms) => killsFrom(START + ms))).toEqual([0, 1, 0]);
  });

  it("puts declared limits and measured use together by container", () => {
    const view = resourceView(list(workload([pod("geo-0")])), new Map([["geo-0-id", USE]]), INTERVAL, NOW);
    expect(view.services.get("geo")).toEqual({
      namespace: "shop",
      replicasReady: 1,
      replicasWanted: 1,
      lastStartedAtMs: START - 60_000,
      containers: [
        {
          id: "docker://geo-0-id",
          name: "main",
          podName: "geo-0",
          node: "n",
          cpuLimitCores: 1,
          cpuUsageCores: 0.5,
          cpuThrottledRatio: 0.1,
          memoryWorkingSetBytes: 1e6,
        },
      ],
    });
  });

  it("believes the declared limit over the one an agent read before the last resize", () => {
    const uses = new Map([["geo-0-id", { ...USE, cpuLimitCores: 2 }]]);
    const view = resourceView(list(workload([pod("geo-0")])), uses, INTERVAL, NOW);
    expect(view.services.get("geo")?.containers[0]?.cpuLimitCores).toBe(1);
  });

  it("leaves out pods that are not ready, and the CPU of pods that started in the window", () => {
    const pods = [pod("geo-0"), pod("geo-1", { ready: false }), pod("geo-2", { startedAtMs: START + 5_000 })];
    const uses = new Map(pods.map(({ name }) => [`${name}-id`, USE]));
    const resources = resourceView(list(workload(pods)), uses, INTERVAL, NOW).services.get("geo");
    expect(resources?.containers.map(({ podName, cpuUsageCores }) => [podName, cpuUsageCores])).toEqual([
      ["geo-0", 0.5],
      ["geo-2", undefined],
    ]);
    expect(resources?.lastStartedAtMs).toBe(START + 5_000);
  });

  it.each([
    {
      was: "starting as the window began",
      startedAtMs: START - 3_000,
      readyAtMs: START + 3_000,
      counts: false,
    },
    {
      was: "ready just before the window",
      startedAtMs: START - 9_000,
      readyAtMs: START - 1_000,
      counts: false,
    },
    { was: "ready before the window", startedAtMs: START - 9_000, readyAtMs: START - 3_000, counts: true },
    {
      was: "not ready for a while long after its start",
      startedAtMs: START - 3_600_000,
      readyAtMs: START + 3_000,
      counts: true,
    },
    {
      was: "started in a future that only a wrong clock knows",
      startedAtMs: NOW + 60_000,
      readyAtMs: NOW + 61_000,
      counts: true,
    },
    {
      was: "ready, and nobody knows when it started",
      startedAtMs: undefined,
      readyAtMs: undefined,
      counts: true,
    },
  ])("CPU of a pod that was $was counts: $counts", ({ counts, startedAtMs, readyAtMs }) => {
    const { startedAtMs: _started, ...bare } = pod("geo-0");
    const known = {
      ...bare,
      ...(startedAtMs !== undefined && { startedAtMs }),
      ...(readyAtMs !== undefined && { readyAtMs }),
    };
    const view = resourceView(list(workload([known])), new Map([["geo-0-id", USE]]), INTERVAL, NOW);
    expect(view.services.get("geo")?.containers[0]?.cpuUsageCores).toBe(counts ? 0.5 : undefined);
  });

  it("adds up two workloads of one service, such as a canary", () => {
    const both = list(
      workload([pod("geo-0")]),
      workload([pod("geo-c0"), pod("geo-c1")], { name: "geo-canary" }),
    );
    expect(resourceView(both, new Map(), INTERVAL, NOW).services.get("geo")).toMatchObject({
      replicasReady: 3,
      replicasWanted: 3,
    });
  });

  it("knows nothing without a list", () => {
    expect(resourceView(undefined, new Map(), INTERVAL, NOW).services.size).toBe(0);
  });
});
