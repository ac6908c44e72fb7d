import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { WorkloadList } from "@tradewind/core/contract/workload.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { ClusterWatch } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import type { ClusterWatchOptions, WatchHealth } from "@tradewind/kubernetes/workloads/cluster-watch.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { waitUntil } from "../../wait-until.ts";
import { deployment, pod, podOf, replicaSet } from "../cluster-objects.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import { silentLog } from "../silent-log.ts";

const TIMINGS = { backoff: { firstMs: 5, maxMs: 20 }, absentMs: 50 };

async function cluster(options: Partial<ClusterWatchOptions> = {}) {
  const fake = await FakeApiServer.start();
  fake.addUser("predictor", "predictor-token", [
    { namespace: "shop", rules: rulesFor("predictor", "watched", ["workloads"]) },
    { rules: rulesFor("predictor", "cluster", ["nodes"]) },
  ]);
  const client = new ApiClient(fake.connection("predictor-token"), { retryDelays: TIMINGS.backoff });
  const watch = new ClusterWatch({
    client,
    namespaces: ["shop"],
    scaledObjects: true,
    capacity: true,
    log: silentLog,
    clock: systemClock,
    timings: TIMINGS,
    ...options,
  });
  onTestFinished(async () => {
    await watch.stop();
    await client.close();
  });
  const list = () => watch.workloads(() => undefined, 60_000);
  return { fake, watch, list };
}

function fill(fake: FakeApiServer): void {
  fake.put(
    RESOURCES.deployments,
    deployment("cart", { replicas: 3, requests: { cpu: "250m", memory: "128Mi" } }),
  );
  fake.put(RESOURCES.replicaSets, replicaSet("cart-abc12", "cart"));
  const sizes = { requests: { cpu: "250m", memory: "128Mi" }, limits: { memory: "256Mi" } };
  fake.put(
    RESOURCES.pods,
    podOf("cart", 0, { ...sizes, sidecar: "proxy", startedAt: "2026-01-02T03:05:00Z" }),
  );
  fake.put(RESOURCES.pods, podOf("cart", 1, { ...sizes, ready: false }));
  fake.put(RESOURCES.pods, podOf("cart", 2, { ...sizes, node: "", phase: "Pending", ready: false }));
  fake.put(RESOURCES.pods, podOf("cart", 3, { ...sizes, phase: "Failed", ready: false }));
  fake.put(RESOURCES.pods, pod("debug"));
  fake.put(RESOURCES.pods, pod("cart-else", { namespace: "other" }));
}

describe("the workloads of a cluster", () => {
  it("include Rollouts with the pods of their ReplicaSets, and what is paused", async () => {
    const { fake, watch, list } = await cluster();
    fake.put(RESOURCES.deployments, deployment("cart", { replicas: 0, podLabels: { tier: "back" } }));
    fake.put(RESOURCES.rollouts, {
      metadata: { name: "cart-canary", namespace: "shop", uid: "rollout-cart" },
      spec: { replicas: 2, workloadRef: { apiVersion: "apps/v1", kind: "Deployment", name: "cart" } },
      status: { readyReplicas: 1 },
    });
    fake.put(RESOURCES.scaledObjects, {
      metadata: { name: "cart", namespace: "shop", annotations: { "autoscaling.keda.sh/paused": "true" } },
      spec: { scaleTargetRef: { kind: "Rollout", name: "cart-canary" }, triggers: [] },
    });
    const set = replicaSet("cart-canary-abc12", "cart");
    const ownerReferences = [{ kind: "Rollout", name: "cart-canary", uid: "rollout-cart", controller: true }];
    fake.put(RESOURCES.replicaSets, { ...set, metadata: { ...set.metadata, ownerReferences } });
    const owner = { kind: "ReplicaSet", name: "cart-canary-abc12", uid: "replicaset-cart-canary-abc12" };
    fake.put(RESOURCES.pods, pod("cart-canary-abc12-1", { owner }));
    watch.start();
    await waitUntil(
      () => list()?.workloads[0]?.pods.length === 1 && list()?.workloads[0]?.scalingPaused === true,
    );
    expect(WorkloadList.parse(list()).workloads).toMatchObject([
      { kind: "Rollout", name: "cart-canary", replicasWanted: 2, replicasReady: 1, scalingPaused: true },
    ]);
  });

  it("come with their pods, containers, sizes and starts", async () => {
    const { fake, watch, list } = await cluster();
    fill(fake);
    watch.start();
    await waitUntil(() => list() !== undefined);
    const { workloads } = WorkloadList.parse(list());
    expect(workloads).toEqual([
      {
        namespace: "shop",
        kind: "Deployment",
        name: "cart",
        service: "cart",
        replicasWanted: 3,
        replicasReady: 3,
        podsUnscheduled: 1,
        // As much is set aside for the sidecar as for the main container.
        placing: { requests: { cpu: 0.5, memory: 256 * 2 ** 20 } },
        pods: [
          {
            uid: "pod-cart-abc12-0",
            name: "cart-abc12-0",
            node: "node-1",
            ready: true,
            startedAtMs: Date.parse("2026-01-02T03:05:00Z"),
            createdAtMs: Date.parse("2026-01-02T03:04:00Z"),
            readyAtMs: Date.parse("2026-01-02T03:04:09Z"),
            containers: [
              {
                id: "containerd://cart-abc12-0-main",
                name: "main",
                startedAtMs: Date.parse("2026-01-02T03:05:00Z"),
                cpuRequestCores: 0.25,
                memoryRequestBytes: 128 * 2 ** 20,
                memoryLimitBytes: 256 * 2 ** 20,
              },
              {
                id: "containerd://cart-abc12-0-proxy",
                name: "proxy",
                sidecar: true,
                startedAtMs: Date.parse("2026-01-02T03:05:00Z"),
                cpuRequestCores: 0.01,
              },
            ],
          },
          expect.objectContaining({ name: "cart-abc12-1", ready: false }),
        ],
      },
    ]);
    expect(fake.refused).toEqual([]);
  });

  it("say which paths their probes ask for, without queries, and nothing of those that ask none", async () => {
    const { fake, watch, list } = await cluster();
    const readyz = { httpGet: { path: "readyz?verbose=1", port: 9898 } };
    const probes = {
      readinessProbe: readyz,
      livenessProbe: { httpGet: { port: 9898 } },
      startupProbe: readyz,
    };
    fake.put(RESOURCES.deployments, deployment("cart", { probes }));
    fake.put(RESOURCES.deployments, deployment("geo", { probes: { livenessProbe: { grpc: { port: 9 } } } }));
    const silent = {
      livenessProbe: { exec: { command: ["true"] } },
      readinessProbe: { tcpSocket: { port: 9 } },
    };
    fake.put(RESOURCES.deployments, deployment("rate", { probes: silent }));
    watch.start();
    await waitUntil(() => list()?.workloads.length === 3);
    const { workloads } = WorkloadList.parse(list());
    expect(workloads.map(({ name, probePaths }) => [name, probePaths])).toEqual([
      ["cart", ["/readyz", "/"]],
      ["geo", ["/grpc.health.v1.Health/Check"]],
      ["rate", undefined],
    ]);
  });

  it("request and allocate nothing where their containers say zero", async () => {
    const { fake, watch, list } = await cluster();
    const zero = { cpu: "0", memory: "0" };
    fake.put(RESOURCES.deployments, deployment("cart", { replicas: 1, requests: zero }));
    fake.put(RESOURCES.replicaSets, replicaSet("cart-abc12", "cart"));
    fake.put(RESOURCES.pods, podOf("cart", 0, { requests: zero, limits: zero }));
    watch.start();
    await waitUntil(() => list() !== undefined);
    const [container] = list()?.workloads[0]?.pods[0]?.containers ?? [];
    expect(container).toEqual({
      id: "containerd://cart-abc12-0-main",
      name: "main",
      startedAtMs: expect.any(Number) as number,
    });
  });

  it("come with what bounds them: autoscalers, zero included, quotas and nodes", async () => {
    const { fake, watch, list } = await cluster();
    fill(fake);
    fake.put(RESOURCES.deployments, deployment("web"));
    const target = (name: string) => ({
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
    });
    fake.put(RESOURCES.horizontalPodAutoscalers, {
      metadata: { name: "keda-hpa-cart", namespace: "shop" },
      spec: { ...target("cart"), minReplicas: 1, maxReplicas: 9 },
    });
    fake.put(RESOURCES.scaledObjects, {
      metadata: { name: "cart", namespace: "shop" },
      spec: { scaleTargetRef: { name: "cart" }, minReplicaCount: 0, maxReplicaCount: 9, triggers: [] },
    });
    fake.put(RESOURCES.horizontalPodAutoscalers, {
      metadata: { name: "web", namespace: "shop" },
      spec: { ...target("web"), minReplicas: 2, maxReplicas: 5 },
    });
    fake.put(RESOURCES.resourceQuotas, {
      metadata: { name: "all", namespace: "shop" },
      status: {
        hard: { "requests.cpu": "10", pods: "40", "count/secrets": "5" },
        used: { "requests.cpu": "4500m", pods: "12" },
      },
    });
    fake.put(RESOURCES.resourceQuotas, {
      metadata: { name: "low-priority", namespace: "shop" },
      spec: { scopes: ["BestEffort"] },
      status: { hard: { pods: "1" }, used: { pods: "0" } },
    });
    fake.put(RESOURCES.limitRanges, {
      metadata: { name: "sizes", namespace: "shop" },
      spec: {
        limits: [
          { type: "Container", min: { cpu: "50m" }, max: { cpu: "4", memory: "2Gi" }, default: { cpu: "1" } },
          { type: "Pod", max: { cpu: "3" } },
          { type: "PersistentVolumeClaim", max: { storage: "1Gi" } },
        ],
      },
    });
    const ready = [{ type: "Ready", status: "True" }];
    fake.put(RESOURCES.nodes, {
      metadata: { name: "node-1", labels: { "node.kubernetes.io/instance-type": "m7i.large" } },
      status: { allocatable: { cpu: "3920m", memory: "15Gi", pods: "110" }, conditions: ready },
    });
    fake.put(RESOURCES.nodes, {
      metadata: { name: "node-2" },
      spec: { unschedulable: true },
      status: { conditions: ready },
    });
    watch.start();
    await waitUntil(
      () =>
        list()?.nodes?.[0]?.taken?.["pods"] !== undefined &&
        list()?.quotas !== undefined &&
        list()?.containerLimits !== undefined &&
        list()?.workloads[0]?.minReplicas === 0,
    );
    const { containerLimits, nodes, quotas, workloads } = WorkloadList.parse(list());
    expect(containerLimits).toEqual([
      { namespace: "shop", cpuMinCores: 0.05, cpuMaxCores: 3, memoryMaxBytes: 2 ** 31 },
    ]);
    expect(
      workloads.map(({ name, minReplicas, maxReplicas }) => ({ name, minReplicas, maxReplicas })),
    ).toEqual([
      { name: "cart", minReplicas: 0, maxReplicas: 9 },
      { name: "web", minReplicas: 2, maxReplicas: 5 },
    ]);
    expect(quotas).toEqual([
      {
        namespace: "shop",
        name: "all",
        hard: { cpuRequestCores: 10, pods: 40 },
        used: { cpuRequestCores: 4.5, pods: 12 },
      },
    ]);
    expect(nodes).toEqual([
      {
        name: "node-1",
        schedulable: true,
        cpuCores: 3.92,
        memoryBytes: 15 * 2 ** 30,
        pods: 110,
        instanceType: "m7i.large",
        taken: { pods: 4, cpu: 0.75, memory: 384 * 2 ** 20 },
      },
      {
        name: "node-2",
        schedulable: false,
        taken: { pods: 0 },
        taints: [{ key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" }],
      },
    ]);
  });

  it("say which program each pod runs and which is the newest, after a rollback too", async () => {
    const { fake, watch, list } = await cluster();
    fake.put(RESOURCES.deployments, deployment("cart"));
    fake.put(RESOURCES.replicaSets, replicaSet("cart-abc12", "cart", 1));
    fake.put(RESOURCES.replicaSets, replicaSet("cart-def34", "cart", 2));
    fake.put(RESOURCES.pods, podOf("cart", 0, { labels: { "pod-template-hash": "abc12" } }));
    const killed = { labels: { "controller-revision-hash": "db-1" }, oomKilledAt: "2026-01-02T03:09:00Z" };
    const owner = { kind: "StatefulSet", name: "db", uid: "statefulset-db" };
    fake.put(RESOURCES.pods, pod("db-0", { ...killed, owner }));
    const database = deployment("db", { uid: "statefulset-db", status: { updateRevision: "db-2" } });
    fake.put(RESOURCES.statefulSets, database);
    watch.start();
    await waitUntil(() => list()?.workloads.length === 2);
    expect(WorkloadList.parse(list()).workloads).toMatchObject([
      { name: "cart", revision: "def34", pods: [{ revision: "abc12" }] },
      {
        name: "db",
        revision: "db-2",
        pods: [{ revision: "db-1", containers: [{ oomKilledAtMs: Date.parse("2026-01-02T03:09:00Z") }] }],
      },
    ]);
    fake.put(RESOURCES.replicaSets, replicaSet("cart-abc12", "cart", 3));
    await waitUntil(() => list()?.workloads[0]?.revision === "abc12");
  });

  it("follow every change", async () => {
    const { fake, watch, list } = await cluster();
    fill(fake);
    watch.start();
    const cart = () => list()?.workloads.find(({ name }) => name === "cart");
    await waitUntil(() => cart()?.pods.length === 2);
    fake.put(RESOURCES.pods, podOf("cart", 1, { ready: true }));
    await waitUntil(() => cart()?.pods[1]?.ready === true);
    fake.remove(RESOURCES.pods, "shop", "cart-abc12-0");
    await waitUntil(() => cart()?.pods.length === 1);
    fake.put(RESOURCES.statefulSets, deployment("db", { uid: "statefulset-db" }));
    fake.put(
      RESOURCES.pods,
      pod("db-0", { owner: { kind: "StatefulSet", name: "db", uid: "statefulset-db" } }),
    );
    await waitUntil(() => list()?.workloads.find(({ kind }) => kind === "StatefulSet")?.pods.length === 1);
    fake.remove(RESOURCES.deployments, "shop", "cart");
    await waitUntil(() => cart() === undefined);
  });

  it("count a pod to its Deployment before its ReplicaSet is known", async () => {
    const { fake, watch, list } = await cluster();
    fake.put(RESOURCES.deployments, deployment("cart-service"));
    fake.put(RESOURCES.pods, podOf("cart-service", 0));
    watch.start();
    await waitUntil(() => list()?.workloads[0]?.pods.length === 1);
  });

  it("read of ReplicaSets nothing but metadata", async () => {
    const { fake, watch, list } = await cluster();
    fill(fake);
    watch.start();
    await waitUntil(() => list() !== undefined);
    const { replicaSets } = watch.objects();
    expect(replicaSets).toEqual([
      expect.objectContaining({
        name: "cart-abc12",
        owner: { kind: "Deployment", name: "cart", uid: "deployment-cart" },
      }),
    ]);
  });

  it("come with what the tightest PodDisruptionBudget that selects their pods allows", async () => {
    const { fake, watch, list } = await cluster();
    fill(fake);
    const budget = (name: string, disruptionsAllowed: number | undefined, selector: object | null) =>
      fake.put(RESOURCES.podDisruptionBudgets, {
        metadata: { name, namespace: "shop" },
        spec: { minAvailable: 1, selector },
        ...(disruptionsAllowed !== undefined && { status: { disruptionsAllowed, observedGeneration: 9 } }),
      });
    budget("wide", 2, {});
    budget("none", 0, null);
    budget("others", 0, { matchLabels: { app: "web" } });
    watch.start();
    await waitUntil(() => list()?.workloads[0]?.disruptions !== undefined);
    expect(list()?.workloads[0]?.disruptions).toEqual({ budget: "wide", allowed: 2 });
    budget("tight", undefined, { matchExpressions: [{ key: "app", operator: "NotIn", values: ["web"] }] });
    await waitUntil(() => list()?.workloads[0]?.disruptions?.budget === "tight");
    expect(WorkloadList.parse(list()).workloads[0]?.disruptions).toEqual({ budget: "tight", allowed: 0 });
  });

  it("do without KEDA, quotas and nodes where these are not installed or not allowed", async () => {
    const { fake, watch, list } = await cluster();
    fake.uninstall(RESOURCES.scaledObjects);
    fake.addUser("predictor", "predictor-token", [
      {
        namespace: "shop",
        rules: rulesFor("predictor", "watched", ["workloads"]).filter(
          ({ resources }) => resources[0] !== "resourcequotas",
        ),
      },
    ]);
    fill(fake);
    watch.start();
    await waitUntil(
      () =>
        list() !== undefined &&
        watch.health().every(({ absent, problem, synced }) => absent || synced || problem !== undefined),
    );
    expect(list()).toMatchObject({ workloads: [{ name: "cart" }] });
    expect(list()).not.toHaveProperty("nodes");
    const problems = watch.health().filter(({ problem }) => problem !== undefined);
    expect(problems.map(({ namespace, resource }) => `${namespace ?? "*"} ${resource}`).sort()).toEqual([
      "* nodepools",
      "* nodes",
      "* pods",
      "kube-system configmaps",
      "shop resourcequotas",
    ]);
    fake.install(RESOURCES.scaledObjects);
    fake.put(RESOURCES.scaledObjects, {
      metadata: { name: "cart", namespace: "shop" },
      spec: { scaleTargetRef: { name: "cart" }, maxReplicaCount: 7 },
    });
    await waitUntil(() => list()?.workloads[0]?.maxReplicas === 7);
  });

  it("are unknown while nobody could read the pods, and once what was read is too old", async () => {
    const { fake, watch } = await cluster();
    fill(fake);
    let down = true;
    fake.fault((call, response) => {
      if (!down || call.resource !== "pods") return false;
      response.destroy();
      return true;
    });
    watch.start();
    await waitUntil(() =>
      watch.health().some(({ resource, synced }) => resource === "deployments" && synced),
    );
    expect(watch.workloads(() => undefined, 60_000)).toBeUndefined();
    down = false;
    await waitUntil(() => watch.workloads(() => undefined, 60_000) !== undefined);
    down = true;
    fake.dropWatches();
    await waitUntil(() => watch.workloads(() => undefined, 50) === undefined);
    expect(watch.workloads(() => undefined, 60_000)?.workloads).toHaveLength(1);
    down = false;
    await waitUntil(() => watch.workloads(() => undefined, 50) !== undefined);
  });

  it.each([404, 403])(
    "are unknown, and not none, once the server has answered %i for pods for a while",
    async (status) => {
      const { fake, watch } = await cluster();
      fill(fake);
      watch.start();
      await waitUntil(() => watch.workloads(() => undefined, 0)?.workloads[0]?.pods.length === 2);
      fake.failNext(1_000, status, { matches: ({ resource }) => resource === "pods", reason: "" });
      fake.dropWatches();
      const isOpen = ({ ageMs, absent, resource }: WatchHealth) =>
        resource === "pods" || absent || ageMs === 0;
      await waitUntil(() =>
        fake.calls.some(({ resource, status: code }) => resource === "pods" && code === status),
      );
      await waitUntil(() => watch.health().every(isOpen) && !watch.isFresh(50));
      expect(watch.workloads(() => undefined, 50)).toBeUndefined();
      // The pods that were known stay known until they are too old.
      expect(watch.workloads(() => undefined, 60_000)?.workloads[0]?.pods).toHaveLength(2);
      fake.clearFaults();
      await waitUntil(() => watch.workloads(() => undefined, 0) !== undefined);
    },
  );

  it("are unknown where the server has no Deployments at all", async () => {
    const { fake, watch } = await cluster();
    fill(fake);
    fake.uninstall(RESOURCES.deployments);
    watch.start();
    await waitUntil(() =>
      watch.health().every(({ problem, synced }) => synced || problem?.includes("404 to list deployments")),
    );
    expect(watch.workloads(() => undefined, Number.MAX_VALUE)).toBeUndefined();
  });

  it("have no autoscalers that anybody could rely on while these may not be read", async () => {
    const { fake, watch, list } = await cluster();
    fake.addUser("predictor", "predictor-token", [
      {
        namespace: "shop",
        rules: rulesFor("predictor", "watched", ["workloads"]).filter(
          ({ resources }) => resources[0] !== "horizontalpodautoscalers",
        ),
      },
    ]);
    fill(fake);
    watch.start();
    await waitUntil(() => list() !== undefined);
    expect(watch.objects().horizontalPodAutoscalers).toBeUndefined();
  });
});

describe("an Argo Rollout", () => {
  const rollout = (spec: object) => ({
    metadata: { name: "web", namespace: "shop", uid: "rollout-web" },
    spec: { replicas: 3, ...spec },
    status: { readyReplicas: 2, currentPodHash: "def34" },
  });
  const owner = { kind: "ReplicaSet", name: "web-def34", uid: "replicaset-web" };
  const canary = podOf("web", 0, {
    owner,
    labels: { "rollouts-pod-template-hash": "def34" },
    requests: { cpu: "1" },
  });
  const set = {
    metadata: {
      name: "web-def34",
      namespace: "shop",
      uid: "replicaset-web",
      ownerReferences: [{ kind: "Rollout", name: "web", uid: "rollout-web", controller: true }],
    },
  };

  it("is a workload with its pods, its size and the newest of its programs", async () => {
    const { fake, watch, list } = await cluster();
    const { spec } = deployment("web");
    fake.put(RESOURCES.rollouts, rollout({ template: (spec as { template: object }).template }));
    fake.put(RESOURCES.replicaSets, set);
    fake.put(RESOURCES.pods, canary);
    watch.start();
    await waitUntil(() => list()?.workloads[0]?.pods.length === 1);
    expect(WorkloadList.parse(list()).workloads).toMatchObject([
      {
        kind: "Rollout",
        name: "web",
        service: "web",
        replicasWanted: 3,
        replicasReady: 2,
        revision: "def34",
      },
    ]);
    expect(fake.refused).toEqual([]);
  });

  it("takes the place of the Deployment that it has its template from", async () => {
    const { fake, watch, list } = await cluster();
    const env = [{ name: "OTEL_SERVICE_NAME", value: "shop-web" }];
    fake.put(RESOURCES.deployments, deployment("web", { replicas: 0, env, requests: { cpu: "750m" } }));
    const workloadRef = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
    fake.put(RESOURCES.rollouts, rollout({ workloadRef }));
    watch.start();
    await waitUntil(() => list()?.workloads[0]?.kind === "Rollout");
    expect(WorkloadList.parse(list()).workloads).toMatchObject([
      { kind: "Rollout", service: "shop-web", replicasWanted: 3, placing: { requests: { cpu: 0.75 } } },
    ]);
  });
});
