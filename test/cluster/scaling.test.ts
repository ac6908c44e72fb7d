import { describe, expect, it } from "vitest";
import { z } from "zod";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { Resource } from "@tradewind/kubernetes/client/resources.ts";
import { examineScaledObjects } from "@tradewind/predictor/commands/doctor/scaled-objects.ts";
import { noCluster, TIMEOUT_MS, useCluster } from "./cluster.ts";
import { create } from "./create.ts";
import { eventually, Stage } from "./stage.ts";

/** Longer than Tradewind takes to see what somebody has scaled, on a busy machine too; in clusters it is 15 s. */
const SYNC_SECONDS = 8;

const application = (more: object = {}) => ({
  entry: "search",
  objective: { milliseconds: 250 },
  services: [{ name: "search" }],
  ...more,
});

const reads = (stage: Stage) => async () => (await stage.hpaCondition("search", "ScalingActive")) === "True";

/** What `tradewind doctor` says of the ScaledObjects of a namespace. */
const diagnosis = async ({ api, namespace }: Stage): Promise<string> =>
  (await examineScaledObjects(api, [namespace]))
    .map(({ level, message }) => `${level}: ${message}`)
    .join("\n");

describe.skipIf(noCluster)("a real predictor and scaler beside real HPAs", { timeout: TIMEOUT_MS }, () => {
  const cluster = useCluster(SYNC_SECONDS);

  it("leave alone what somebody scales by hand while they observe", async () => {
    const stage = await Stage.openPlanned(cluster(), "by-hand", application({ mode: "observe" }));
    await stage.deploy("search", 4);
    const scaler = await stage.startScaler();
    await stage.scale("search", { spec: { pollingInterval: 600 } });
    await eventually("the HPA reads", reads(stage));
    await stage.untilAsked(scaler);
    await stage.change(RESOURCES.deployments, "search", { spec: { replicas: 9 } });
    const seen = stage.watchReplicas("search");
    for (let sync = 0; sync < 3; sync += 1) await stage.untilAsked(scaler);
    expect(await seen()).toEqual([9]);
  });

  it("answer no number while metricType is Value, which would multiply it, and answer again afterwards", async () => {
    const stage = await Stage.openPlanned(cluster(), "value", application({ mode: "act" }));
    await stage.deploy("search", 3);
    const scaler = await stage.startScaler();
    const seen = stage.watchReplicas("search");
    await stage.scale("search", { spec: { pollingInterval: 600 }, trigger: { metricType: "Value" } });
    await eventually("the HPA gets no number", async () =>
      (await stage.hpaCondition("search", "ScalingActive"))?.includes("FailedGetExternalMetric"),
    );
    await stage.untilAsked(scaler);
    expect(await diagnosis(stage)).toMatch(/problem: the trigger has metricType Value/);
    const metadata = { scalerAddress: `127.0.0.1:${stage.grpcPort}`, service: "search" };
    const triggers = [{ type: "external", metricType: "AverageValue", metadata }];
    await stage.change(RESOURCES.scaledObjects, "search", { spec: { triggers } });
    await eventually("the HPA reads", reads(stage));
    expect(await diagnosis(stage)).toMatch(/^ok: /);
    expect(await seen()).toEqual([3]);
  });

  it("plan around a service that KEDA holds still at a number", async () => {
    const services = [{ name: "search", minReplicas: 2 }];
    const stage = await Stage.openPlanned(cluster(), "paused", application({ mode: "act", services }));
    await stage.deploy("search", 2);
    const scaler = await stage.startScaler();
    await stage.scale("search");
    await eventually("the HPA reads", reads(stage));
    const at = (replicas: string | null) => ({
      metadata: { annotations: { "autoscaling.keda.sh/paused-replicas": replicas } },
    });
    await stage.change(RESOURCES.scaledObjects, "search", at("6"));
    await stage.untilReplicas("KEDA is paused at 6", { search: 6 });
    const bounds = async () => {
      const [found] = (await scaler.list()).recommendations;
      return found && `${found.minReplicas} ${found.replicas} ${found.maxReplicas}`;
    };
    await eventually("what runs is recommended", async () => (await bounds()) === "6 6 6");
    expect(await diagnosis(stage)).toMatch(/warning: KEDA is paused at 6 replicas/);
    await stage.change(RESOURCES.scaledObjects, "search", at(null));
    await eventually("it is planned again", async () => (await bounds())?.endsWith(" 100"));
    expect(await diagnosis(stage)).toMatch(/^ok: /);
  });

  it.each([
    ["Rollout", "argoproj.io", "v1alpha1", {}],
    ["Fleet", "shops.example.com", "v1", { apiVersion: "shops.example.com/v1" }],
  ])("bring the /scale of a %s to what is planned", async (kind, group, version, more) => {
    const plane = cluster();
    const resource: Resource = {
      group,
      version,
      plural: `${kind.toLowerCase()}s`,
      kind,
      namespaced: true,
    };
    await create(plane.api, RESOURCES.customResourceDefinitions, withScale(resource));
    const workload = { kind, name: "search", ...more };
    const services = [{ name: "search", workload, minReplicas: 3 }];
    const namespace = `kind-${kind.toLowerCase()}`;
    const stage = await Stage.openPlanned(plane, namespace, application({ mode: "act", services }));
    await eventually(`a ${kind} is served`, async () =>
      create(plane.api, resource, { metadata: { name: "search", namespace }, spec: FLEET }).then(
        () => true,
        () => false,
      ),
    );
    await plane.api.patch({ resource, namespace, name: "search", subresource: "status" }, "merge", {
      status: { replicas: 1, selector: "app=search" },
    });
    await stage.startScaler();
    const scaleTargetRef = { apiVersion: `${group}/${version}`, kind, name: "search" };
    await stage.scale("search", { spec: { scaleTargetRef } });
    const Scale = z.object({ spec: z.object({ replicas: z.number() }) });
    await eventually(`/scale of the ${kind} is 3`, async () => {
      const { spec } = await plane.api.get(
        { resource, namespace, name: "search", subresource: "scale" },
        Scale,
      );
      return spec.replicas === 3;
    });
  });

  it("name a second HPA on the same workload", async () => {
    const stage = await Stage.openPlanned(cluster(), "rivals", application({ mode: "act" }));
    await stage.deploy("search", 2);
    await stage.startScaler();
    await stage.scale("search");
    await eventually("the HPA reads", reads(stage));
    await create(stage.api, RESOURCES.horizontalPodAutoscalers, {
      metadata: { name: "search-cpu", namespace: stage.namespace },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "search" },
        minReplicas: 1,
        maxReplicas: 9,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
          },
        ],
      },
    });
    await eventually("Kubernetes sees two", async () =>
      (await stage.hpaCondition("search", "ScalingActive"))?.includes("AmbiguousSelector"),
    );
    expect(await diagnosis(stage)).toMatch(/problem: Deployment 'search' is scaled by HPA 'search-cpu' too/);
  });
});

const FLEET = {
  replicas: 1,
  selector: { matchLabels: { app: "search" } },
  template: {
    metadata: { labels: { app: "search" } },
    spec: { containers: [{ name: "main", image: "main", resources: { requests: { cpu: "100m" } } }] },
  },
};

/** A kind whose objects have replicas that `/scale` changes. */
function withScale({ group, kind, plural, version }: Resource): object {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: {
              specReplicasPath: ".spec.replicas",
              statusReplicasPath: ".status.replicas",
              labelSelectorPath: ".status.selector",
            },
          },
          schema: { openAPIV3Schema: { type: "object", properties: { spec: anything, status: anything } } },
        },
      ],
    },
  };
}
