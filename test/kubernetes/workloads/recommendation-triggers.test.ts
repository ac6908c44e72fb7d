import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import { KubernetesMetrics } from "@tradewind/kubernetes/prometheus.ts";
import { rulesFor } from "@tradewind/kubernetes/client/rights.ts";
import { recommendationTriggers } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import { registerTriggerMetrics } from "@tradewind/predictor/sources/kubernetes/trigger-metrics.ts";
import { KubernetesWorkloads } from "@tradewind/predictor/sources/kubernetes/workloads.ts";
import { waitUntil } from "../../wait-until.ts";
import { FakeApiServer } from "../fake-api-server.ts";
import type { KubeObject } from "../fake-objects.ts";
import { ASKS_TRADEWIND, CPU, kedaHpa, scaledObject } from "../keda-objects.ts";
import type { Trigger } from "../keda-objects.ts";
import { silentLog } from "../silent-log.ts";

const judged = (triggers: readonly Trigger[], hpa: KubeObject | undefined) =>
  recommendationTriggers(
    [ScaledObject.parse(scaledObject(triggers))],
    hpa === undefined
      ? []
      : [HorizontalPodAutoscaler.parse({ ...hpa, metadata: { ...hpa.metadata, uid: "u" } })],
  );
const ASKS_ANOTHER: Trigger = {
  type: "external",
  metadata: { scalerAddress: "queue.jobs:9090", queue: "mail" },
};
const withService = (metadata: Record<string, string>): Trigger => ({ type: "external-push", metadata });

describe("a ScaledObject that asks Tradewind", () => {
  it.each<[string, readonly Trigger[], readonly string[] | undefined, boolean]>([
    ["has lost its trigger when the HPA reads cpu only", [ASKS_TRADEWIND, CPU], [], true],
    [
      "has its trigger when the HPA reads it beside cpu",
      [ASKS_TRADEWIND, CPU],
      ["s0-recommended-replicas"],
      false,
    ],
    ["has its trigger in the second place", [CPU, ASKS_TRADEWIND], ["s1-recommended-replicas"], false],
    [
      "has lost its trigger when the HPA reads only another external scaler",
      [ASKS_ANOTHER, ASKS_TRADEWIND],
      ["s0-queue-length"],
      true,
    ],
    [
      "has its trigger inside a formula over all triggers",
      [ASKS_TRADEWIND, CPU],
      ["composite-metric"],
      false,
    ],
    [
      "has lost nothing before KEDA has made an HPA, or while it is paused",
      [ASKS_TRADEWIND, CPU],
      undefined,
      false,
    ],
  ])("%s", (_what, triggers, externalMetrics, lost) => {
    const hpa = externalMetrics === undefined ? undefined : kedaHpa(externalMetrics);
    expect(judged(triggers, hpa)).toMatchObject([
      {
        namespace: "shop",
        scaledObject: { name: "search", uid: "scaledobject-search" },
        service: "search",
        hpa: hpa === undefined ? undefined : "keda-hpa-search",
        lost,
        otherTriggers: triggers.filter((each) => each !== ASKS_TRADEWIND).map(({ type }) => type),
      },
    ]);
  });

  it.each<[string, Partial<Trigger>, string, boolean]>([
    [
      "multiplies by the pods that run when its metricType is Value",
      { metricType: "Value" },
      "AverageValue",
      true,
    ],
    ["multiplies by the pods that run when the HPA's target is Value", {}, "Value", true],
    ["multiplies nothing with AverageValue", { metricType: "AverageValue" }, "AverageValue", false],
  ])("%s", (_what, metricType, targetType, multiplies) => {
    const hpa = structuredClone(kedaHpa(["s0-recommended-replicas"]));
    const { metrics } = hpa.spec as { metrics: { external?: { target: { type: string } } }[] };
    metrics[0]!.external!.target.type = targetType;
    expect(judged([{ ...ASKS_TRADEWIND, ...metricType }], hpa)[0]).toMatchObject({ lost: false, multiplies });
  });

  it.each([
    [{ "autoscaling.keda.sh/paused": "true" }, { of: "scaling" }],
    [{ "autoscaling.keda.sh/paused": "false" }, undefined],
    [{ "autoscaling.keda.sh/paused-replicas": "5" }, { of: "scaling", replicas: 5 }],
    [{ "autoscaling.keda.sh/paused-replicas": "many" }, undefined],
    [{ "autoscaling.keda.sh/paused-scale-in": "true" }, { of: "scale-in" }],
    [{ "autoscaling.keda.sh/paused-scale-out": "true" }, { of: "scale-out" }],
    [{}, undefined],
  ])("is paused as its annotations %j say", (annotations, pause) => {
    const object = scaledObject([ASKS_TRADEWIND]);
    const parsed = ScaledObject.parse({ ...object, metadata: { ...object.metadata, annotations } });
    const [trigger] = recommendationTriggers([parsed], []);
    expect(trigger?.pause === undefined).toBe(pause === undefined);
    expect(trigger?.pause ?? {}).toMatchObject(pause ?? {});
  });

  it("names what else scales its workload, but not the HPA that KEDA made of it", () => {
    const another = HorizontalPodAutoscaler.parse({
      metadata: { name: "by-hand", namespace: "shop", uid: "h" },
      spec: { scaleTargetRef: { kind: "Deployment", name: "search" }, maxReplicas: 4 },
    });
    const made = kedaHpa(["s0-recommended-replicas"]);
    const own = HorizontalPodAutoscaler.parse({ ...made, metadata: { ...made.metadata, uid: "u" } });
    const both = [scaledObject([ASKS_TRADEWIND]), scaledObject([CPU], "older")].map((each) =>
      ScaledObject.parse(each),
    );
    expect(recommendationTriggers(both, [own, another])[0]?.rivals).toEqual([
      "HPA 'by-hand'",
      "ScaledObject 'older'",
    ]);
  });

  it("is told from one that asks somebody else, or nobody", () => {
    expect(judged([ASKS_ANOTHER, CPU], kedaHpa([]))).toEqual([]);
    expect(judged([{ type: "prometheus", metadata: { service: "search" } }], kedaHpa([]))).toEqual([]);
  });

  it("names the service as the trigger does, or its target where an environment variable does", () => {
    const serviceOf = (trigger: Trigger) => judged([trigger], undefined)[0]?.service;
    expect(serviceOf(withService({ service: " front end " }))).toBe("front end");
    expect(serviceOf(withService({ serviceFromEnv: "OTEL_SERVICE_NAME" }))).toBe("search");
  });
});

describe("the predictor", () => {
  it("shows in its metrics which services' HPAs do not read what is recommended, with the rights it has", async () => {
    const fake = await FakeApiServer.start();
    fake.addUser("predictor", "predictor-token", [
      { namespace: "shop", rules: rulesFor("predictor", "watched", ["workloads"]) },
      { rules: rulesFor("predictor", "cluster", ["nodes"]) },
    ]);
    fake.put(RESOURCES.scaledObjects, scaledObject([ASKS_TRADEWIND, CPU]));
    fake.put(RESOURCES.horizontalPodAutoscalers, kedaHpa([]));
    const client = new ApiClient(fake.connection("predictor-token"));
    const registry = new Registry();
    const source = new KubernetesWorkloads({
      client,
      namespaces: ["shop"],
      applications: () => [],
      keepSeconds: 60,
      clock: systemClock,
      log: silentLog,
      observer: new KubernetesMetrics(registry),
    });
    onTestFinished(async () => {
      await source.stop();
      await client.close();
    });
    registerTriggerMetrics(registry, () => source.triggers());
    source.start();
    const shows = async (value: number): Promise<boolean> =>
      (await registry.metrics()).includes(
        `\ntradewind_hpa_without_recommendation{namespace="shop",service="search"} ${value}\n`,
      );
    await waitUntil(async () => shows(1));
    fake.put(RESOURCES.horizontalPodAutoscalers, kedaHpa(["s0-recommended-replicas"]));
    await waitUntil(async () => shows(0));
    expect(fake.refused).toEqual([]);
  });
});
