import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { describe, expect, it, onTestFinished } from "vitest";
import type { FakeApiServer } from "../../../kubernetes/fake-api-server.ts";
import type { KubeObject } from "../../../kubernetes/fake-objects.ts";
import { until } from "../../until.ts";
import { application, cluster, plan, statusOf, wish } from "../scene/shop-cluster.ts";

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
    await until("watches", () => fake.openWatches >= 7);
    predictor.serve(plan([wish({ allocation: { replicas: 9 } })], { mode: "observe", sequence: 2 }));
    const rounds = fake.calls.length;
    await until("some renewals of the lease", () => fake.calls.length > rounds + 5);
    // Heads of the audit trail are published whether a plan comes or not.
    const reasons = fake.list(RESOURCES.events).map((event) => (event as { reason?: string }).reason);
    expect(reasons.filter((reason) => reason !== "AuditHead")).toEqual([]);
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
    // Heads of the audit trail are published whether a plan comes or not.
    const reasons = fake.list(RESOURCES.events).map((event) => (event as { reason?: string }).reason);
    expect(reasons.filter((reason) => reason !== "AuditHead")).toEqual([]);
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
