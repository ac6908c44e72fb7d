import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import { BLOCKS, LEASE_NAME, PERMISSIONS, rulesFor } from "@tradewind/kubernetes/rbac/table.ts";
import type { Block } from "@tradewind/kubernetes/rbac/table.ts";
import type { ExporterInput } from "@tradewind/exporter/options.ts";
import { deployment, podOf, replicaSet } from "../../kubernetes/cluster-objects.ts";
import { FakeApiServer } from "../../kubernetes/fake-api-server.ts";
import type { KubeObject } from "../../kubernetes/fake-objects.ts";
import { ASKS_TRADEWIND, CPU, kedaHpa, scaledObject } from "../../kubernetes/keda-objects.ts";
import { runningExporter } from "../running-exporter.ts";
import type { TestExporter } from "../running-exporter.ts";
import { until } from "../until.ts";
import { planOf, wishOf } from "../wish.ts";

const SIZES = { requests: { cpu: "200m", memory: "128Mi" } };
const ELECTION = { leaseSeconds: 1, renewDeadlineMs: 400, retryMs: 30 };
const WATCHES = { backoff: { firstMs: 5, maxMs: 20 }, absentMs: 100 };

type Part = "status" | "events" | "vpa" | "inPlaceResize";

/** A cluster with a Deployment `search` of two pods, and a user with the rights for these parts and no others. */
async function cluster(parts: readonly Part[]) {
  const fake = await FakeApiServer.start();
  const blocks: Block[] = ["workloads", ...(parts.filter((part) => part !== "status") as Block[])];
  if (parts.includes("status")) blocks.push("application");
  fake.addUser("scaler", "scaler-token", [
    { namespace: "tradewind", rules: rulesFor("scaler", "own", ["leader"]) },
    { namespace: "shop", rules: rulesFor("scaler", "watched", blocks) },
  ]);
  fake.put(RESOURCES.deployments, deployment("search"));
  fake.put(RESOURCES.replicaSets, replicaSet("search-abc12", "search"));
  for (const index of [0, 1]) fake.put(RESOURCES.pods, podOf("search", index, SIZES));
  const exporter = async (
    plan: Plan | undefined,
    identity = "scaler-0",
    input: ExporterInput = {},
  ): Promise<TestExporter> =>
    runningExporter(
      plan,
      {
        cluster: {
          ...Object.fromEntries(parts.map((part) => [part, true])),
          identity,
          namespace: "tradewind",
          reconcileMs: 30,
        },
        ...input,
      },
      { cluster: { connection: fake.connection("scaler-token"), election: ELECTION, watchTimings: WATCHES } },
    );
  return { fake, exporter };
}

const wish = (changes: Partial<Wish> = {}): Wish => wishOf({ confidence: 0.9, ...changes });
const plan = (wishes: readonly Wish[], changes: Partial<Plan> = {}): Plan =>
  planOf(wishes, { windowSeconds: 15, mode: "act", complete: true, ...changes });

const application: KubeObject = {
  metadata: { name: "hotel", namespace: "shop" },
  spec: { entry: "search", objective: { milliseconds: 200 } },
};
const statusOf = (fake: FakeApiServer): ApplicationStatus | undefined =>
  fake.find(RESOURCES.applications, "shop", "hotel")?.status as ApplicationStatus | undefined;

describe("the leading exporter", () => {
  it("keeps the status of the Application, by server-side apply, and only when it has something to say", async () => {
    const { exporter, fake } = await cluster(["status"]);
    fake.put(RESOURCES.applications, application);
    const { predictor } = await exporter(plan([wish()]));
    const first = await until("a status with its workload", () =>
      statusOf(fake)?.services[0]?.workload === undefined ? undefined : statusOf(fake),
    );
    expect(ApplicationStatus.parse(first)).toMatchObject({
      observedGeneration: 1,
      replicas: "3 → 5",
      services: [
        { name: "search", workload: { kind: "Deployment", name: "search" }, replicas: 5, cpu: "600m" },
      ],
    });
    const writes = () => fake.calls.filter(({ resource }) => resource === "applications/status").length;
    const before = writes();
    predictor.serve(plan([wish()], { sequence: 2, measuredLatencySeconds: 0.24 }));
    await until("the second plan", () => predictor.requests() > 5);
    expect(writes()).toBe(before);
    predictor.serve(plan([wish({ allocation: { replicas: 8 } })], { sequence: 3 }));
    await until("the new number", () => statusOf(fake)?.replicas === "3 → 8");
    expect(fake.refused).toEqual([]);
  });

  it("does without the resource where the configuration is a file", async () => {
    const { exporter, fake } = await cluster(["status"]);
    const { metrics } = await exporter(plan([wish()]));
    await until("a leader", async () => (await metrics()).includes("tradewind_leader 1"));
    await until("watches", () => fake.openWatches >= 6);
    expect(await metrics()).not.toContain("tradewind_leader_failures_total{");
    fake.put(RESOURCES.applications, application);
    await until("a status", () => statusOf(fake) !== undefined);
  });

  it("says in condition and event of the Application what a missed objective is put down to, once for a cause", async () => {
    const { exporter, fake } = await cluster(["status", "events"]);
    fake.put(RESOURCES.applications, application);
    const cause = { service: "search", type: "C", sinceMs: 1, summary: "Cause: 'search', CPU." };
    const missed = { measuredLatencySeconds: 9, cause };
    const { predictor } = await exporter(plan([wish()], missed));
    const told = (): KubeObject[] =>
      fake.list(RESOURCES.events).filter(({ reason }) => reason === "CauseNamed");
    await until("an event", () => told().length > 0);
    expect(told()[0]).toMatchObject({
      type: "Warning",
      note: "Cause: 'search', CPU.",
      regarding: { kind: "Application", name: "hotel", namespace: "shop" },
    });
    const asked = predictor.requests();
    predictor.serve(plan([wish()], { ...missed, cause: { ...cause, sinceMs: 2 }, sequence: 2 }));
    await until("the next plan", () => predictor.requests() > asked + 4);
    expect(told()).toHaveLength(1);
    const conditions = await until("the condition", () =>
      statusOf(fake)?.conditions.find(
        ({ type, message }) => type === "ObjectiveMet" && message.includes("cause"),
      ),
    );
    expect(conditions.message).toContain("'search' (C)");
  });

  it("tells changes on the workload, once", async () => {
    const { exporter, fake } = await cluster(["events"]);
    const { predictor } = await exporter(plan([wish()]));
    await until("watches", () => fake.openWatches >= 6);
    await until(
      "the first look",
      () => fake.calls.filter(({ resource }) => resource === "leases").length > 3,
    );
    predictor.serve(plan([wish({ allocation: { replicas: 9 }, reason: "two flows miss" })], { sequence: 2 }));
    const [event] = await until("an event", () => {
      const all = fake.list(RESOURCES.events);
      return all.length > 0 ? all : undefined;
    });
    expect(event).toMatchObject({
      metadata: { namespace: "shop" },
      type: "Normal",
      reason: "ReplicasRecommended",
      note: "5 → 9 replicas (queue, confidence 0.90): two flows miss",
      regarding: { kind: "Deployment", name: "search", uid: "deployment-search" },
      reportingInstance: "scaler-0",
    });
    predictor.serve(plan([wish({ allocation: { replicas: 9 } })], { sequence: 3 }));
    await until("the third plan", () => predictor.requests() > 10);
    expect(fake.list(RESOURCES.events)).toHaveLength(1);
    expect(fake.refused).toEqual([]);
  });

  it("writes an event on a ScaledObject whose HPA lost the trigger, once while it lasts", async () => {
    const { exporter, fake } = await cluster(["events"]);
    fake.put(RESOURCES.scaledObjects, scaledObject([ASKS_TRADEWIND, CPU]));
    fake.put(RESOURCES.horizontalPodAutoscalers, kedaHpa([]));
    const { predictor } = await exporter(plan([wish()]));
    const [event] = await until("an event", () => {
      const all = fake.list(RESOURCES.events);
      return all.length > 0 ? all : undefined;
    });
    expect(event).toMatchObject({
      metadata: { namespace: "shop" },
      type: "Warning",
      reason: "RecommendationNotRead",
      regarding: {
        apiVersion: "keda.sh/v1alpha1",
        kind: "ScaledObject",
        name: "search",
        uid: "scaledobject-search",
      },
    });
    expect(event?.["note"]).toMatch(
      /^HPA 'keda-hpa-search' does not read the replicas recommended for search/,
    );
    const renewals = () => fake.calls.filter(({ resource }) => resource === "leases").length;
    const before = renewals();
    await until("more rounds", () => renewals() > before + 4);
    expect(fake.list(RESOURCES.events)).toHaveLength(1);
    fake.put(RESOURCES.horizontalPodAutoscalers, kedaHpa(["s0-recommended-replicas"]));
    predictor.serve(plan([wish({ allocation: { replicas: 9 } })], { sequence: 2 }));
    await until("the next event, of the new number", () => fake.list(RESOURCES.events).length === 2);
    expect(fake.refused).toEqual([]);
  });

  it("is one of two, and another once it is gone: nothing is written twice meanwhile", async () => {
    const { exporter, fake } = await cluster(["status"]);
    fake.put(RESOURCES.applications, application);
    const [a, b] = [await exporter(plan([wish()]), "scaler-a"), await exporter(plan([wish()]), "scaler-b")];
    const holder = () =>
      (fake.find(RESOURCES.leases, "tradewind", LEASE_NAME)?.spec as { holderIdentity?: string } | undefined)
        ?.holderIdentity;
    await until("a leader", () => holder() !== undefined && statusOf(fake) !== undefined);
    const isLeading = async ({ metrics }: TestExporter) =>
      (await metrics()).includes("\ntradewind_leader 1\n");
    const [leader, other] = (await isLeading(a)) ? [a, b] : [b, a];
    await until("the only leader", async () => (await isLeading(leader)) && !(await isLeading(other)));
    const first = holder();
    await leader.running.stop();
    await until("the other leader", async () => isLeading(other));
    expect(holder()).not.toBe(first);
    other.predictor.serve(plan([wish({ allocation: { replicas: 9 } })], { sequence: 2 }));
    await until("its status", () => statusOf(fake)?.replicas === "3 → 9");
  });

  it("is one for each Lease, so that two releases in a namespace both write", async () => {
    const { exporter, fake } = await cluster(["status"]);
    const rules = rulesFor("scaler", "own", ["leader"]).map((rule) =>
      rule.resourceNames === undefined ? rule : { ...rule, resourceNames: [LEASE_NAME, "second-exporter"] },
    );
    fake.addUser("scaler", "scaler-token", [{ namespace: "tradewind", rules }]);
    const settings = { status: true, namespace: "tradewind", reconcileMs: 30 };
    const first = await exporter(plan([wish()]), "a");
    const second = await exporter(plan([wish()]), "b", {
      cluster: { ...settings, identity: "b", lease: "second-exporter" },
    });
    for (const { metrics } of [first, second])
      await until("a leader", async () => (await metrics()).includes("\ntradewind_leader 1\n"));
  });

  it("says after a restart that no plan comes, of each of several applications with its own services", async () => {
    const state = mkdtempSync(join(tmpdir(), "tradewind-leader-"));
    onTestFinished(() => rmSync(state, { recursive: true }));
    const { exporter, fake } = await cluster(["status"]);
    for (const name of ["hotel", "desk", "other"]) {
      fake.put(RESOURCES.applications, { ...application, metadata: { name, namespace: "shop", uid: name } });
    }
    const hotel = await exporter(plan([wish()]), "scaler-0", { state });
    hotel.predictor.serve(plan([wish({ service: "cart" })], { application: "desk", sequence: 2 }));
    await hotel.listWhen("both", ({ recommendations }) => recommendations.length === 2);
    await hotel.running.stop();
    const said = (name: string) => {
      const status = fake.find(RESOURCES.applications, "shop", name)?.status as ApplicationStatus | undefined;
      const reason = status?.conditions.find(({ type }) => type === "Ready")?.reason;
      return [reason, status?.services.map((service) => service.name)];
    };
    await exporter(undefined, "scaler-0", { state });
    await until("no plan", () => said("hotel")[0] === "NoPlan" && said("desk")[0] === "NoPlan");
    expect([said("hotel"), said("desk"), said("other")]).toEqual([
      ["NoPlan", ["search"]],
      ["NoPlan", ["cart"]],
      [undefined, undefined],
    ]);
  });

  it("says that no plan comes of the application in its settings, where it remembers no decision", async () => {
    const { exporter, fake } = await cluster(["status"]);
    fake.put(RESOURCES.applications, application);
    await exporter(undefined, "scaler-0", { application: "crd:shop/hotel" });
    await until("no plan in the status", () =>
      statusOf(fake)?.conditions.some(({ reason, type }) => type === "Ready" && reason === "NoPlan"),
    );
  });

  it("never keeps KEDA waiting, whatever the API server does", async () => {
    const { exporter, fake } = await cluster(["status", "events", "vpa", "inPlaceResize"]);
    fake.fault(() => true);
    const { client } = await exporter(plan([wish()]));
    const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
    expect(await client.metrics(ref, "recommended-replicas")).toMatchObject([{ int: 5 }]);
  });
});

describe("the recommender tradewind", () => {
  const vpa = (spec: object = {}): KubeObject => ({
    metadata: { name: "search", namespace: "shop" },
    spec: {
      targetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "search" },
      recommenders: [{ name: "tradewind" }],
      ...spec,
    },
  });
  const targetOf = (fake: FakeApiServer, name = "search") =>
    (
      fake.find(RESOURCES.verticalPodAutoscalers, "shop", name)?.status as
        { recommendation?: { containerRecommendations: { target: Record<string, string> }[] } } | undefined
    )?.recommendation?.containerRecommendations[0]?.target;

  it("writes the VPAs that name it alone, and no other", async () => {
    const { exporter, fake } = await cluster(["vpa"]);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa());
    const others: object[] = [
      { recommenders: undefined },
      { recommenders: [{ name: "default" }] },
      { recommenders: [{ name: "tradewind" }, { name: "default" }] },
    ];
    for (const [index, spec] of others.entries()) {
      const other = vpa(spec);
      fake.put(RESOURCES.verticalPodAutoscalers, {
        ...other,
        metadata: { ...other.metadata, name: `other-${index}` },
      });
    }
    const { metrics } = await exporter(plan([wish()]));
    await until("a target", () => targetOf(fake) !== undefined);
    expect(targetOf(fake)).toEqual({ cpu: "600m", memory: "191Mi" });
    for (const index of others.keys()) {
      expect(fake.find(RESOURCES.verticalPodAutoscalers, "shop", `other-${index}`)).not.toHaveProperty(
        "status",
      );
    }
    const writes = () => fake.calls.filter(({ verb }) => verb === "patch").length;
    const after = writes();
    await until("more rounds", async () =>
      (await metrics()).includes('tradewind_vpa_status_writes_total{result="written"} 1'),
    );
    expect(writes()).toBe(after);
    expect(fake.refused).toEqual([]);
  });

  it("writes sizes that are only advised, with bounds that keep running pods as they are", async () => {
    const { exporter, fake } = await cluster(["vpa"]);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa());
    const advice = { cpuCores: 0.6, memoryBytes: 200e6 };
    await exporter(plan([wish({ allocation: { replicas: 5 }, advice })]));
    await until("a target", () => targetOf(fake) !== undefined);
    expect(fake.find(RESOURCES.verticalPodAutoscalers, "shop", "search")).toMatchObject({
      status: {
        recommendation: {
          containerRecommendations: [
            { target: { cpu: "600m", memory: "191Mi" }, lowerBound: { cpu: "180m", memory: "115Mi" } },
          ],
        },
      },
    });
  });

  it("in mode recommend writes a VPA with updateMode Off, and none that acts", async () => {
    const { exporter, fake } = await cluster(["vpa"]);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa());
    const off = vpa({ updatePolicy: { updateMode: "Off" } });
    fake.put(RESOURCES.verticalPodAutoscalers, { ...off, metadata: { ...off.metadata, name: "off" } });
    await exporter(plan([wish()], { mode: "recommend" }));
    await until("a target", () => targetOf(fake, "off") !== undefined);
    const status = await until(
      "a condition",
      () => fake.find(RESOURCES.verticalPodAutoscalers, "shop", "search")?.status,
    );
    expect(status).toMatchObject({ conditions: [{ status: "False", reason: "OnlyRecommended" }] });
    expect(targetOf(fake)).toBeUndefined();
  });

  it("in mode observe writes neither VPAs nor events, and goes on with both once it acts", async () => {
    const { exporter, fake } = await cluster(["vpa", "events"]);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa());
    const { predictor } = await exporter(plan([wish()], { mode: "observe" }));
    await until("watches", () => fake.openWatches >= 6);
    predictor.serve(plan([wish({ allocation: { replicas: 9 } })], { mode: "observe", sequence: 2 }));
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 5);
    expect(fake.list(RESOURCES.events)).toEqual([]);
    expect(fake.find(RESOURCES.verticalPodAutoscalers, "shop", "search")).not.toHaveProperty("status");
    predictor.serve(plan([wish()], { sequence: 3 }));
    await until("a target", () => targetOf(fake) !== undefined);
    predictor.serve(plan([wish({ allocation: { replicas: 7 } })], { sequence: 4 }));
    await until("an event", () => fake.list(RESOURCES.events).length > 0);
    expect(fake.list(RESOURCES.events)[0]).toMatchObject({ reason: "ReplicasRecommended" });
  });

  it("after a restart says that no plan comes, and writes neither VPAs nor events before one does", async () => {
    const state = mkdtempSync(join(tmpdir(), "tradewind-leader-"));
    onTestFinished(() => rmSync(state, { recursive: true }));
    const { exporter, fake } = await cluster(["status", "vpa", "events"]);
    fake.put(RESOURCES.applications, application);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa());
    const { running } = await exporter(plan([wish()], { mode: "observe" }), "scaler-0", { state });
    const ready = () => statusOf(fake)?.conditions.find(({ type }) => type === "Ready");
    await until("a plan in the status", () => ready()?.status === "True");
    await running.stop();
    await exporter(undefined, "scaler-0", { state });
    await until("no plan in the status", () => ready()?.reason === "NoPlan");
    expect(fake.list(RESOURCES.events)).toEqual([]);
    expect(fake.find(RESOURCES.verticalPodAutoscalers, "shop", "search")).not.toHaveProperty("status");
  });

  it("says why it has nothing to say for a target nobody plans for", async () => {
    const { exporter, fake } = await cluster(["vpa"]);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa({ targetRef: { kind: "DaemonSet", name: "log" } }));
    await exporter(plan([wish()]));
    const status = await until(
      "a condition",
      () => fake.find(RESOURCES.verticalPodAutoscalers, "shop", "search")?.status,
    );
    expect(status).toMatchObject({
      conditions: [{ type: "RecommendationProvided", status: "False", reason: "UnknownTarget" }],
    });
  });

  it("goes on after conflicts and refusals of single VPAs", async () => {
    const { exporter, fake } = await cluster(["vpa"]);
    fake.put(RESOURCES.verticalPodAutoscalers, vpa());
    fake.failNext(2, 409, { matches: ({ verb }) => verb === "patch", reason: "Conflict" });
    fake.failNext(1, 429, { matches: ({ verb }) => verb === "patch", headers: { "retry-after": "0" } });
    await exporter(plan([wish()]));
    await until("a target", () => targetOf(fake) !== undefined);
  });
});

describe("in-place resize", () => {
  const requestsOf = (fake: FakeApiServer, index: number) =>
    (
      fake.find(RESOURCES.pods, "shop", `search-abc12-${index}`)!.spec as {
        containers: { resources: { requests: Record<string, string> } }[];
      }
    ).containers[0]!.resources.requests;
  /** What the kubelet does with a wish. */
  const kubelet = (fake: FakeApiServer, index: number, condition?: object): void => {
    const { metadata, spec, status } = fake.find(RESOURCES.pods, "shop", `search-abc12-${index}`)!;
    const ready = { type: "Ready", status: "True" };
    const [container] = (status as { containerStatuses: object[] }).containerStatuses;
    const allocatedResources = condition === undefined ? requestsOf(fake, index) : SIZES.requests;
    fake.put(RESOURCES.pods, {
      metadata,
      spec,
      status: {
        ...(status as object),
        conditions: [ready, ...(condition === undefined ? [] : [condition])],
        containerStatuses: [{ ...container, allocatedResources }],
      },
    });
  };
  const eventsOf = (fake: FakeApiServer) => fake.list(RESOURCES.events).map(({ reason }) => reason);

  it("changes requests of one pod after the other, and tells when it is done", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize", "events"]);
    await exporter(plan([wish()]));
    await until("the first pod", () => requestsOf(fake, 0)["cpu"] === "600m");
    kubelet(fake, 0, { type: "PodResizeInProgress", status: "True" });
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 4);
    expect(requestsOf(fake, 1)).toEqual(SIZES.requests);
    kubelet(fake, 0);
    await until("the second pod", () => requestsOf(fake, 1)["cpu"] === "600m");
    expect(requestsOf(fake, 1)).toEqual({ cpu: "600m", memory: "191Mi" });
    kubelet(fake, 1);
    await until("both told", () => eventsOf(fake).length === 2);
    expect(eventsOf(fake)).toEqual(["PodResized", "PodResized"]);
    expect(fake.refused).toEqual([]);
  });

  it("takes back what a node cannot give, says so, and leaves the pod alone", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize", "events"]);
    const { metrics } = await exporter(plan([wish()]));
    await until("the first pod", () => requestsOf(fake, 0)["cpu"] === "600m");
    kubelet(fake, 0, {
      type: "PodResizePending",
      status: "True",
      reason: "Infeasible",
      message: "no room on node-1",
    });
    await until("taken back", () => requestsOf(fake, 0)["cpu"] === "200m");
    kubelet(fake, 0);
    await until("the second pod", () => requestsOf(fake, 1)["cpu"] === "600m");
    expect(requestsOf(fake, 0)).toEqual({ cpu: "200m", memory: "128Mi" });
    expect(fake.list(RESOURCES.events)[0]).toMatchObject({
      type: "Warning",
      reason: "PodResizeTakenBack",
      note: expect.stringContaining("Infeasible: no room on node-1") as string,
    });
    expect(await metrics()).toMatch(/tradewind_pod_resizes_total\{result="taken-back"\} 1/);
  });

  it.each([
    ["the application only recommends", { mode: "recommend" as const }, {}, undefined],
    ["the policy is not sure", {}, { confidence: 0.2 }, undefined],
    [
      "the workload says no",
      {},
      {},
      (fake: FakeApiServer) =>
        fake.put(
          RESOURCES.deployments,
          deployment("search", { annotations: { "tradewind.dev/resize": "off" } }),
        ),
    ],
    [
      "a VPA takes care of it",
      {},
      {},
      (fake: FakeApiServer) =>
        fake.put(RESOURCES.verticalPodAutoscalers, {
          metadata: { name: "search", namespace: "shop" },
          spec: { targetRef: { kind: "Deployment", name: "search" } },
        }),
    ],
    [
      "a VPA looks on with updateMode Off",
      {},
      {},
      (fake: FakeApiServer) =>
        fake.put(RESOURCES.verticalPodAutoscalers, {
          metadata: { name: "search", namespace: "shop" },
          spec: {
            targetRef: { kind: "Deployment", name: "search" },
            updatePolicy: { updateMode: "Off" },
          },
        }),
    ],
    [
      "the decision does not count on their size",
      {},
      { allocation: { replicas: 5 }, advice: { cpuCores: 0.6, memoryBytes: 200e6 } },
      undefined,
    ],
  ])("leaves pods alone when %s", async (_what, changes, wished, prepare) => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    prepare?.(fake);
    await exporter(plan([wish(wished)], changes));
    await until("all watches", () => fake.openWatches >= 6);
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 5);
    expect(fake.calls.some(({ resource }) => resource === "pods/resize")).toBe(false);
  });

  it("leaves pods alone while it may not read HPAs: the request may be the scale point of one", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    fake.failNext(1_000, 403, { matches: ({ resource }) => resource === "horizontalpodautoscalers" });
    await exporter(plan([wish()]));
    await until("all other watches", () => fake.openWatches >= 5);
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 5);
    expect(fake.calls.some(({ resource }) => resource === "pods/resize")).toBe(false);
    fake.clearFaults();
    await until("the first pod", () => requestsOf(fake, 0)["cpu"] === "600m");
  });

  it("keeps the CPU request where an HPA scales on use relative to it", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    fake.put(RESOURCES.horizontalPodAutoscalers, {
      metadata: { name: "search", namespace: "shop" },
      spec: {
        scaleTargetRef: { kind: "Deployment", name: "search" },
        maxReplicas: 9,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
          },
        ],
      },
    });
    await exporter(plan([wish()]));
    await until("the first pod", () => requestsOf(fake, 0)["memory"] === "191Mi");
    expect(requestsOf(fake, 0)["cpu"]).toBe("200m");
  });

  it("gives up on a cluster that does not know how, and on a pod that is refused", async () => {
    const { exporter, fake } = await cluster(["inPlaceResize"]);
    fake.fault((call, response) => {
      if (call.resource !== "pods/resize" || call.name !== "search-abc12-0") return false;
      response.writeHead(422, { "content-type": "application/json" });
      response.end(
        JSON.stringify({ kind: "Status", reason: "Invalid", message: "QoS may not change", code: 422 }),
      );
      return true;
    });
    const { metrics } = await exporter(plan([wish()]));
    await until("the other pod", () => requestsOf(fake, 1)["cpu"] === "600m");
    expect(requestsOf(fake, 0)).toEqual(SIZES.requests);
    expect(await metrics()).toMatch(/tradewind_pod_resizes_total\{result="refused"\} 1/);
  });
});

describe("the table of rights", () => {
  it("names every block, asks for each right once, and never for nodes/proxy, secrets or anything of everything", () => {
    expect(new Set(PERMISSIONS.map(({ block }) => block))).toEqual(new Set(BLOCKS));
    const lines = PERMISSIONS.map(
      ({ account, apiGroup, block, resource, verbs }) =>
        `${account} ${block} ${apiGroup}/${resource} ${verbs.join()}`,
    );
    expect(new Set(lines).size).toBe(lines.length);
    const text = JSON.stringify(PERMISSIONS);
    for (const never of ["proxy", "secrets", '"*"', "exec", "impersonate", "escalate", "bind"]) {
      expect(text).not.toContain(never);
    }
  });
});
