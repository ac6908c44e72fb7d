import { BOUNDS, scaledComponents } from "./application.ts";
import type { Component, JudgedApplication } from "./application.ts";
import { imageOf } from "./images.ts";
import { FIXED_LABEL } from "./pod-watch.ts";

const list = (items: readonly object[]): object => ({ apiVersion: "v1", kind: "List", items });

/** A Deployment of each component with its Service and ConfigMap, in a namespace of the application's name. */
export function applicationObjects(application: JudgedApplication): object {
  return list(
    application.components.flatMap((component) => [
      deployment(application, component),
      ...service(application, component),
      ...configuration(application, component),
    ]),
  );
}

/** An HPA on CPU for each component that is scaled, as people set it: 60 % of the request, all else by default. */
export function hpaObjects(application: JudgedApplication): object {
  return list(
    scaledComponents(application).map(({ name }) => ({
      apiVersion: "autoscaling/v2",
      kind: "HorizontalPodAutoscaler",
      metadata: { name, namespace: application.name },
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
  const { cpu, env, memoryLimit, name: namespace } = application;
  const { args, files, image, isFixed = false, name, port, setUp } = component;
  const labels = { app: name, ...(isFixed && { [FIXED_LABEL]: "true" }) };
  const program = {
    image: imageOf(image),
    imagePullPolicy: "Never",
    env: Object.entries({ ...env, ...component.env }).map(([variable, value]) => ({ name: variable, value })),
    ...(files !== undefined && { volumeMounts: [{ name: "config", mountPath: "/config" }] }),
    resources: {
      requests: { cpu: isFixed ? "50m" : cpu.request, memory: "32Mi" },
      limits: isFixed ? { memory: "512Mi" } : { cpu: cpu.limit, memory: memoryLimit },
    },
  };
  const container = {
    ...program,
    name: "main",
    args,
    ...(port !== undefined && { ports: [{ containerPort: port }], readinessProbe: probe(component) }),
    // Endpoints take a moment to be forgotten.
    lifecycle: { preStop: { sleep: { seconds: 3 } } },
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
        spec: {
          enableServiceLinks: false,
          terminationGracePeriodSeconds: 15,
          ...(setUp !== undefined && { initContainers: [{ ...program, name: "set-up", args: setUp }] }),
          containers: [container],
          ...(files !== undefined && { volumes: [{ name: "config", configMap: { name } }] }),
        },
      },
    },
  };
}

function probe({ port, readyPath }: Component): object {
  const look = readyPath === undefined ? { tcpSocket: { port } } : { httpGet: { path: readyPath, port } };
  return { ...look, periodSeconds: 2, timeoutSeconds: 5 };
}

function service({ name: namespace }: JudgedApplication, component: Component): object[] {
  const { furtherPorts = [], name, port: own } = component;
  if (own === undefined) return [];
  const ports = [own, ...furtherPorts].map((port) => ({ name: `port-${port}`, port }));
  const spec = { selector: { app: name }, ports };
  return [{ apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec }];
}

const configuration = ({ name: namespace }: JudgedApplication, { files, name }: Component): object[] =>
  files === undefined
    ? []
    : [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: files }];
