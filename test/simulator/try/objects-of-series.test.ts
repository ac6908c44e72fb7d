import { describe, expect, it, onTestFinished } from "vitest";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { foundInState, readState } from "@tradewind/simulator/try/objects-of-series.ts";
import type { StateSeries } from "@tradewind/simulator/try/objects-of-series.ts";
import { survey } from "@tradewind/kubernetes/init/survey.ts";
import { FakePrometheus } from "../../predictor/sources/prometheus/fake-prometheus.ts";

const of = (name: string, labels: Record<string, string>, value = 1): StateSeries => ({
  labels: { __name__: name, namespace: "shop", ...labels },
  value,
});

/** A Deployment with one pod of one container. */
const deployment = (name: string, image: string, replicas = 2): StateSeries[] => [
  of("kube_deployment_spec_replicas", { deployment: name }, replicas),
  of("kube_replicaset_owner", { replicaset: `${name}-1`, owner_kind: "Deployment", owner_name: name }),
  of("kube_pod_info", { pod: `${name}-1-a`, created_by_kind: "ReplicaSet", created_by_name: `${name}-1` }),
  of("kube_pod_container_info", { pod: `${name}-1-a`, container: name, image }),
  of("kube_pod_container_resource_requests", { pod: `${name}-1-a`, container: name, resource: "cpu" }, 0.25),
];

const choice = { exclude: [], include: [], entry: undefined };

describe("objects of a namespace by kube-state-metrics alone", () => {
  it("are workloads with replicas, images and requests, and the HPA that scales them", () => {
    const found = foundInState(
      [
        ...deployment("web", "example.com/web:1", 3),
        of("kube_horizontalpodautoscaler_info", {
          horizontalpodautoscaler: "web",
          scaletargetref_kind: "Deployment",
          scaletargetref_name: "web",
        }),
        of("kube_horizontalpodautoscaler_spec_min_replicas", { horizontalpodautoscaler: "web" }, 2),
        of("kube_horizontalpodautoscaler_spec_max_replicas", { horizontalpodautoscaler: "web" }, 9),
        of(
          "kube_horizontalpodautoscaler_spec_target_metric",
          { horizontalpodautoscaler: "web", metric_name: "cpu", metric_target_type: "utilization" },
          70,
        ),
      ],
      "shop",
      ["web"],
    );
    const [web] = survey(found, choice).workloads;
    expect(web).toMatchObject({
      service: "web",
      workload: { replicasWanted: 3 },
      container: { resources: { requests: { cpuCores: 0.25 } } },
      autoscaler: { minReplicas: 2, maxReplicas: 9, measures: ["cpu 70 % of the request"] },
    });
  });

  it("leave out what keeps data, by its image, and what nobody calls", () => {
    const found = foundInState(
      [
        ...deployment("web", "example.com/web:1"),
        ...deployment("db", "docker.io/library/postgres:16"),
        ...deployment("mailer", "example.com/mailer:1"),
      ],
      "shop",
      ["web"],
    );
    const { leftOut, workloads } = survey(found, choice);
    expect(workloads.map(({ service }) => service)).toEqual(["web"]);
    expect(leftOut.map(({ class: kind, name }) => [name, kind])).toEqual([
      ["db", "stateful"],
      ["mailer", "uncalled"],
    ]);
  });

  it("name the entry by the path of an Ingress through a Service that begins with its name", () => {
    const found = foundInState(
      [
        ...deployment("web", "example.com/web:1"),
        ...deployment("cart", "example.com/cart:1"),
        of("kube_service_info", { service: "web-public" }),
        of("kube_ingress_path", {
          ingress: "shop",
          path: "/",
          service_name: "web-public",
          service_port: "80",
        }),
      ],
      "shop",
      ["web", "cart"],
    );
    const { workloads } = survey(found, choice);
    expect(workloads.filter(({ exposures }) => exposures.length > 0).map(({ service }) => service)).toEqual([
      "web",
    ]);
  });

  it("take an HPA that KEDA made for its ScaledObject", () => {
    const found = foundInState(
      [
        ...deployment("web", "example.com/web:1"),
        of("kube_horizontalpodautoscaler_info", {
          horizontalpodautoscaler: "keda-hpa-web",
          scaletargetref_kind: "Deployment",
          scaletargetref_name: "web",
        }),
        of("kube_horizontalpodautoscaler_spec_max_replicas", { horizontalpodautoscaler: "keda-hpa-web" }, 9),
      ],
      "shop",
      ["web"],
    );
    expect(found.autoscalers).toEqual([]);
    expect(found.scaledObjects).toMatchObject([{ name: "web", maxReplicas: 9 }]);
  });

  it("are guessed from request metrics where there is no kube-state-metrics", () => {
    const found = foundInState([], "shop", ["web", "cart"]);
    expect(found.workloads.map(({ name, replicasWanted }) => [name, replicasWanted])).toEqual([
      ["cart", 1],
      ["web", 1],
    ]);
  });
});

it("series of kube-state-metrics whose labels a scrape renamed are read by the labels that they had", async () => {
  const fake = await FakePrometheus.start();
  onTestFinished(async () => fake.server.stop());
  const options = PrometheusOptions.parse({ url: fake.server.url });
  const source = new PrometheusSource(options, { namespace: "shop", entries: () => [] });
  onTestFinished(async () => source.close());
  const atMs = 1_800_000_000_000;
  const here = {
    namespace: "monitoring",
    pod: "kube-state-metrics-1-a",
    container: "main",
    service: "metrics",
  };
  fake.series = deployment("web", "example.com/web:1", 3).map(({ labels, value }) => ({
    labels: {
      ...here,
      ...Object.fromEntries(
        Object.entries(labels).map(([label, text]) => [label in here ? `exported_${label}` : label, text]),
      ),
    },
    samples: [[atMs / 1_000, String(value)]],
  }));
  const found = foundInState(await readState(source.client, "shop", [], atMs), "shop", ["web"]);
  expect(survey(found, choice).workloads[0]).toMatchObject({
    service: "web",
    workload: { replicasWanted: 3 },
    container: { resources: { requests: { cpuCores: 0.25 } } },
  });
});
