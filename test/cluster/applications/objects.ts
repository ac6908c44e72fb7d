import { BOUNDS, imageOf } from "./application.ts";
import type { Component, JudgedApplication } from "./application.ts";

const list = (items: readonly object[]): object => ({ apiVersion: "v1", kind: "List", items });

/** A Deployment and a Service of each component, in a namespace of the application's name. */
export function applicationObjects(application: JudgedApplication): object {
  return list(
    application.components.flatMap((component) => [
      deployment(application, component),
      service(application, component),
    ]),
  );
}

/** An HPA on CPU for each component, as people set it: 60 % of the request, all else by default. */
export function hpaObjects({ components, name: namespace }: JudgedApplication): object {
  return list(
    components.map(({ name }) => ({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name, namespace },
      spec: {
        scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name },
        ...BOUNDS,
        metrics: [
          {
            type: "Resource",
            resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } },
          },
        ],
      },
    })),
  );
}

function deployment(application: JudgedApplication, component: Component): object {
  const { cpu, env, name: namespace } = application;
  const { args, name, port, readyPath } = component;
  const labels = { app: name };
  const look = readyPath === undefined ? { tcpSocket: { port } } : { httpGet: { path: readyPath, port } };
  const container = {
    name: "main",
    image: imageOf(application),
    imagePullPolicy: "Never",
    args,
    env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
    ports: [{ containerPort: port }],
    readinessProbe: { ...look, periodSeconds: 2 },
    // Endpoints take a moment to be forgotten.
    lifecycle: { preStop: { sleep: { seconds: 3 } } },
    resources: {
      requests: { cpu: cpu.request, memory: "32Mi" },
      limits: { cpu: cpu.limit, memory: "128Mi" },
    },
  };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      replicas: BOUNDS.minReplicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { enableServiceLinks: false, terminationGracePeriodSeconds: 15, containers: [container] },
      },
    },
  };
}

const service = ({ name: namespace }: JudgedApplication, { name, port }: Component): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, namespace },
  spec: { selector: { app: name }, ports: [{ port }] },
});
