import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { ApplicationStatus } from "@tradewind/kubernetes/crd/status.ts";
import { LEASE_NAME, rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import { verifyChain } from "@tradewind/exporter/keep/journal/chain.ts";
import { openTrail } from "@tradewind/exporter/keep/journal/journal.ts";
import type { KubeObject } from "../../../kubernetes/fake-objects.ts";
import { ASKS_TRADEWIND, CPU, kedaHpa, scaledObject } from "../../../kubernetes/keda-objects.ts";
import { until } from "../../until.ts";
import type { TestExporter } from "../../running-exporter.ts";
import { application, cluster, plan, statusOf, wish } from "./shop-cluster.ts";

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
    await until("watches", () => fake.openWatches >= 7);
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

  it("says the newest row of its audit trail in an event of the Application, by which the trail is verified", async () => {
    const state = mkdtempSync(join(tmpdir(), "tradewind-leader-"));
    onTestFinished(() => rmSync(state, { recursive: true }));
    const { exporter, fake } = await cluster(["status", "events"]);
    fake.put(RESOURCES.applications, application);
    await exporter(plan([wish()]), "scaler-0", { state });
    const { note, regarding } = await until("an event", () =>
      fake.list(RESOURCES.events).find(({ reason }) => reason === "AuditHead"),
    );
    expect(regarding).toMatchObject({ kind: "Application", name: "hotel", namespace: "shop" });
    const [, seq, hash = ""] = /row (\d+) of the audit trail has the hash (\w+)/.exec(String(note)) ?? [];
    using trail = openTrail(state);
    expect(verifyChain(trail.rows(), { noted: { seq: Number(seq), hash } }).problem).toBeUndefined();
    expect(fake.refused).toEqual([]);
  });

  it("tells changes on the workload, once", async () => {
    const { exporter, fake } = await cluster(["events"]);
    const { predictor } = await exporter(plan([wish()]));
    await until("watches", () => fake.openWatches >= 7);
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

  it("writes an event on a ScaledObject that is paused, and none of changes that nobody carries out", async () => {
    const { exporter, fake } = await cluster(["events"]);
    const object = scaledObject([ASKS_TRADEWIND]);
    const annotations = { "autoscaling.keda.sh/paused": "true" };
    fake.put(RESOURCES.scaledObjects, { ...object, metadata: { ...object.metadata, annotations } });
    const { predictor } = await exporter(plan([wish()]));
    const [event] = await until("an event", () => {
      const all = fake.list(RESOURCES.events);
      return all.length > 0 ? all : undefined;
    });
    expect(event).toMatchObject({
      reason: "ScalingPaused",
      regarding: { kind: "ScaledObject", name: "search" },
    });
    predictor.serve(plan([wish({ allocation: { replicas: 9 } })], { sequence: 2 }));
    await until("the second plan", () => predictor.requests() > 10);
    expect(fake.list(RESOURCES.events)).toHaveLength(1);
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

  it("says that the only Application is not valid any more, and which generation is in use", async () => {
    const { exporter, fake } = await cluster(["status"]);
    const edit = (spec: object): void => {
      const edited = Object.assign({}, application.spec, spec);
      fake.put(RESOURCES.applications, { ...application, spec: edited, status: statusOf(fake) });
    };
    const ready = async (reason: string, observedGeneration: number) =>
      until(`Ready ${reason} of generation ${observedGeneration}`, () =>
        statusOf(fake)?.conditions.find(
          (each) =>
            each.type === "Ready" &&
            each.reason === reason &&
            each.observedGeneration === observedGeneration &&
            statusOf(fake)?.observedGeneration === observedGeneration,
        ),
      );
    const calendar = { name: "day", from: "0 8 * * *", until: "0 20 * * *", floor: { replicas: 2 } };
    const { predictor } = await exporter(plan([wish()]), "scaler-0", { application: "crd:shop/hotel" });
    edit({});
    await ready("Planning", 1);
    edit({ calendars: [{ ...calendar, timeZone: "Europe/Zuerich" }] });
    expect(await ready("Invalid", 1)).toMatchObject({
      status: "False",
      message: expect.stringContaining("timeZone") as string,
    });
    predictor.serve(plan([wish({ allocation: { replicas: 8 } })], { sequence: 2 }));
    await until("the next numbers", () => statusOf(fake)?.replicas === "3 → 8");
    await ready("Invalid", 1);
    edit({ calendars: [calendar] });
    await ready("Planning", 3);
  });

  it("never keeps KEDA waiting, whatever the API server does", async () => {
    const { exporter, fake } = await cluster(["status", "events", "vpa", "inPlaceResize"]);
    fake.fault(() => true);
    const { client } = await exporter(plan([wish()]));
    const ref = { name: "so", namespace: "shop", metadata: { service: "search" } };
    expect(await client.metrics(ref, "recommended-replicas")).toMatchObject([{ int: 5 }]);
  });
});
