import type { KubeObject } from "./fake-objects.ts";

export interface PodFacts {
  readonly namespace?: string;
  readonly owner?: { readonly kind: string; readonly name: string; readonly uid: string };
  readonly node?: string;
  readonly phase?: string;
  readonly ready?: boolean;
  readonly startedAt?: string;
  readonly requests?: Record<string, string>;
  readonly limits?: Record<string, string>;
  readonly qosClass?: string;
  readonly annotations?: Record<string, string>;
  readonly sidecar?: string;
  /** `pod-template-hash` or `controller-revision-hash`. */
  readonly labels?: Record<string, string>;
  readonly oomKilledAt?: string;
  readonly resizePolicy?: readonly { resourceName: string; restartPolicy: string }[];
}

export const STARTED = "2026-01-02T03:04:05Z";

export function deployment(
  name: string,
  facts: Partial<KubeObject["metadata"]> & {
    spec?: object;
    status?: object;
    env?: object[];
    requests?: Record<string, string>;
    limits?: Record<string, string>;
    podLabels?: Record<string, string>;
    probes?: object;
    replicas?: number;
  } = {},
): KubeObject {
  const { spec, status, env, requests, limits, podLabels, probes, replicas = 2, ...metadata } = facts;
  return {
    metadata: { name, namespace: "shop", uid: `deployment-${name}`, ...metadata },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { creationTimestamp: null, labels: { app: name, ...podLabels } },
        spec: {
          containers: [
            { name: "main", image: "shop/main:1", env, resources: { requests, limits }, ...probes },
          ],
        },
      },
      ...spec,
    },
    status: { readyReplicas: replicas, replicas, ...status },
  };
}

/** @param revision number of the Deployment's revision; the hash of the template is the end of the name */
export function replicaSet(name: string, deploymentName: string, revision?: number): KubeObject {
  return {
    metadata: {
      name,
      ...(revision !== undefined && {
        annotations: { "deployment.kubernetes.io/revision": String(revision) },
        labels: { "pod-template-hash": name.slice(name.lastIndexOf("-") + 1) },
      }),
      namespace: "shop",
      uid: `replicaset-${name}`,
      ownerReferences: [
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          name: deploymentName,
          uid: `deployment-${deploymentName}`,
          controller: true,
        },
      ],
    },
    spec: { template: { spec: { containers: [{ name: "main", image: "secret/huge:1" }] } } },
  };
}

export function pod(name: string, facts: PodFacts = {}): KubeObject {
  const { annotations, node = "node-1", owner, phase = "Running", ready = true, sidecar } = facts;
  const resources = { requests: facts.requests, limits: facts.limits };
  const { startedAt = STARTED } = facts;
  const status = (container: string) => ({
    name: container,
    ready,
    containerID: `containerd://${name}-${container}`,
    state: { running: { startedAt } },
    ...(facts.oomKilledAt !== undefined &&
      container === "main" && {
        lastState: { terminated: { reason: "OOMKilled", exitCode: 137, finishedAt: facts.oomKilledAt } },
      }),
    allocatedResources: facts.requests,
    resources,
  });
  return {
    metadata: {
      name,
      namespace: facts.namespace ?? "shop",
      uid: `pod-${name}`,
      creationTimestamp: "2026-01-02T03:04:00Z",
      ...(annotations !== undefined && { annotations }),
      ...(facts.labels !== undefined && { labels: facts.labels }),
      ...(owner !== undefined && {
        ownerReferences: [{ apiVersion: "apps/v1", controller: true, ...owner }],
      }),
    },
    spec: {
      ...(node !== "" && { nodeName: node }),
      containers: [{ name: "main", image: "shop/main:1", resources, resizePolicy: facts.resizePolicy }],
      ...(sidecar !== undefined && {
        initContainers: [
          { name: "migrate", image: "shop/migrate:1", resources: {} },
          {
            name: sidecar,
            image: "mesh/proxy:1",
            restartPolicy: "Always",
            resources: { requests: { cpu: "10m" } },
          },
        ],
      }),
    },
    status: {
      phase,
      qosClass: facts.qosClass ?? "Burstable",
      startTime: "2026-01-02T03:04:01Z",
      conditions: [
        { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: "2026-01-02T03:04:09Z" },
      ],
      ...(node !== "" && {
        containerStatuses: [status("main")],
        ...(sidecar !== undefined && { initContainerStatuses: [status(sidecar)] }),
      }),
    },
  };
}

/** A pod of a Deployment, as its ReplicaSet `DEPLOYMENT-abc12` made it. */
export const podOf = (deploymentName: string, index: number, facts: PodFacts = {}): KubeObject =>
  pod(`${deploymentName}-abc12-${index}`, {
    owner: {
      kind: "ReplicaSet",
      name: `${deploymentName}-abc12`,
      uid: `replicaset-${deploymentName}-abc12`,
    },
    ...facts,
  });
