import { describe, expect, it } from "vitest";
import { WEB, fateOf, objectsIn, service, workload, write } from "./manifests.ts";
import type { Manifest, WorkloadFacts } from "./manifests.ts";

const hpa = (target: string, metrics: readonly object[], behavior?: object): Manifest => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata: { name: `${target}-hpa`, labels: { "argocd.argoproj.io/instance": "shop" } },
  spec: {
    scaleTargetRef: { kind: "Deployment", name: target },
    minReplicas: 2,
    maxReplicas: 12,
    metrics,
    behavior,
  },
});
const CPU = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 70 } },
};
const QUEUE = {
  type: "External",
  external: { metric: { name: "backlog" }, target: { type: "AverageValue", averageValue: "30" } },
};

describe("what scales a workload now", () => {
  it.each<[string, readonly Manifest[], RegExp]>([
    [
      "an HPA on an external metric",
      [workload("jobs", "acme/jobs"), service("jobs"), hpa("jobs", [CPU, QUEUE])],
      /HPA 'jobs-hpa' by cpu 70 % of the request and external metric backlog at 30 a pod/,
    ],
    [
      "a ScaledObject with a queue's trigger",
      [
        workload("jobs", "acme/jobs"),
        service("jobs"),
        {
          kind: "ScaledObject",
          metadata: { name: "jobs" },
          spec: { scaleTargetRef: { name: "jobs" }, triggers: [{ type: "aws-sqs-queue", metadata: {} }] },
        },
      ],
      /ScaledObject 'jobs' by the trigger 'aws-sqs-queue'/,
    ],
    [
      "a ScaledObject with a query of what waits",
      [
        workload("jobs", "acme/jobs"),
        service("jobs"),
        {
          kind: "ScaledObject",
          metadata: { name: "jobs" },
          spec: {
            scaleTargetRef: { name: "jobs" },
            triggers: [{ type: "prometheus", metadata: { query: 'sum(kafka_consumergroup_lag{job="x"})' } }],
          },
        },
      ],
      /ScaledObject 'jobs' by the trigger 'prometheus'/,
    ],
    [
      "an HPA on what waits for each pod",
      [
        workload("jobs", "acme/jobs"),
        service("jobs"),
        hpa("jobs", [
          {
            type: "Pods",
            pods: { metric: { name: "rabbitmq_queue_messages" }, target: { averageValue: "5" } },
          },
        ]),
      ],
      /HPA 'jobs-hpa' by pods metric rabbitmq_queue_messages at 5 a pod/,
    ],
  ])("stays where it is %s", async (_what, manifests, reason) => {
    expect(await fateOf("jobs", manifests)).toMatch(reason);
  });

  it("is given up where it counts requests", async () => {
    const trigger = { type: "prometheus", metadata: { query: 'rate(http_requests_total{job="page"}[1m])' } };
    const { notes } = await write([
      ...WEB,
      workload("page", "acme/page"),
      service("page"),
      {
        kind: "ScaledObject",
        metadata: { name: "page" },
        spec: { scaleTargetRef: { name: "page" }, triggers: [trigger] },
      },
    ]);
    expect(notes.join("\n")).toMatch(/page has the ScaledObject 'page' already: .* in the place of its own/);
  });

  it("hands over its bounds and behaviour where it is an HPA on CPU, and is named with its metrics and its owner", async () => {
    const scaleDown = {
      stabilizationWindowSeconds: 600,
      policies: [{ type: "Pods", value: 1, periodSeconds: 300 }],
    };
    const result = await write([
      ...WEB,
      hpa("shop", [CPU], { scaleDown, scaleUp: { tolerance: "0.2", selectPolicy: "Min" } }),
    ]);
    const written = objectsIn(result).find(({ kind }) => kind === "ScaledObject")!.spec;
    expect(written).toMatchObject({ minReplicaCount: 2, maxReplicaCount: 12 });
    expect(written.advanced!.horizontalPodAutoscalerConfig.behavior).toEqual({
      scaleUp: { tolerance: "0", selectPolicy: "Min" },
      scaleDown: { tolerance: "0", ...scaleDown },
    });
    const said = result.notes.join("\n");
    expect(said).toMatch(/shop is then scaled by latency instead of cpu 70 % of the request/);
    expect(said).toMatch(/HPA 'shop-hpa' belongs to Argo CD application 'shop'/);
  });

  it("is named where there are two, and where its workload is not there", async () => {
    const second = { ...hpa("shop", [CPU]), metadata: { name: "older" } };
    const { notes } = await write([...WEB, hpa("shop", [CPU]), second, hpa("gone", [CPU])]);
    expect(notes.join("\n")).toMatch(/shop is scaled by HPA 'shop-hpa' and HPA 'older'/);
    expect(notes).toContain("HPA 'gone-hpa' scales the Deployment 'gone', which is not there");
  });

  it("is named where a ScaledObject of Tradewind's multiplies or is paused", async () => {
    const { notes } = await write([
      ...WEB,
      {
        kind: "ScaledObject",
        metadata: { name: "shop", annotations: { "autoscaling.keda.sh/paused-replicas": "5" } },
        spec: {
          scaleTargetRef: { name: "shop" },
          triggers: [{ type: "external", metricType: "Value", metadata: { service: "shop" } }],
        },
      },
    ]);
    expect(notes.join("\n")).toMatch(
      /paused at 5 replicas by the annotation autoscaling.keda.sh\/paused-replicas/,
    );
    expect(notes.join("\n")).toMatch(/'metricType: Value'/);
  });
});

describe("a VPA that init writes", () => {
  const vpaOf = async (container: object, more: WorkloadFacts = {}) => {
    const result = await write([workload("shop", "acme/shop", { container, ...more }), WEB[1]!]);
    return objectsIn(result).find(({ kind }) => kind === "VerticalPodAutoscaler")!.spec.resourcePolicy!
      .containerPolicies[0];
  };
  const server = { name: "server", image: "acme/shop", resources: { requests: { cpu: "1" } } };

  it("is for the container that kubectl takes by default", async () => {
    const annotations = { "kubectl.kubernetes.io/default-container": "server" };
    expect(await vpaOf({ name: "helper" }, { annotations, sidecars: [server] })).toMatchObject({
      containerName: "server",
    });
  });

  it("is for the program, where a proxy stands before it", async () => {
    expect(await vpaOf({ name: "proxy", image: "oauth2-proxy:7" }, { sidecars: [server] })).toMatchObject({
      containerName: "server",
    });
  });

  it("takes limits for requests where there are none, as the API server does", async () => {
    expect(await vpaOf({ resources: { limits: { cpu: "500m", memory: "256Mi" } } })).toMatchObject({
      controlledValues: "RequestsAndLimits",
      maxAllowed: { cpu: "2", memory: "1Gi" },
    });
  });
});

describe("a missing CPU request", () => {
  const said = async (spec: object) =>
    (
      await write([
        { ...WEB[0]!, spec: { template: { metadata: { labels: { app: "shop" } }, spec } } },
        WEB[1]!,
      ])
    ).notes.filter((note) => note.includes("has no CPU request"));
  const containers = [{ name: "main", image: "acme/shop:1" }];

  it("is said, but for pods that state one for all their containers", async () => {
    expect(await said({ containers })).toHaveLength(1);
    expect(await said({ containers, resources: { requests: { cpu: "1" } } })).toEqual([]);
  });
});
