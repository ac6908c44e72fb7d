import type { KubeObject } from "./fake-objects.ts";

export interface Trigger {
  readonly type: string;
  readonly metricType?: string;
  readonly metadata: Record<string, string>;
}

export const ASKS_TRADEWIND: Trigger = {
  type: "external",
  metadata: { scalerAddress: "tradewind-scaler.tradewind.svc:9813", service: "search" },
};
export const CPU: Trigger = { type: "cpu", metricType: "AverageValue", metadata: { value: "400m" } };

/** A ScaledObject for the Deployment `search` in `shop`. */
export const scaledObject = (triggers: readonly Trigger[], name = "search"): KubeObject => ({
  metadata: { name, namespace: "shop", uid: `scaledobject-${name}` },
  spec: { scaleTargetRef: { name: "search" }, minReplicaCount: 1, maxReplicaCount: 9, triggers },
});

const EXTERNAL = (name: string): object => ({
  type: "External",
  external: { metric: { name }, target: { type: "AverageValue", averageValue: "1" } },
});
const RESOURCE: object = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "AverageValue", averageValue: "400m" } },
};

/** The HPA that KEDA 2.20 writes of it; without external metrics as it does while no scaler answers. */
export const kedaHpa = (externalMetrics: readonly string[], owner = "search"): KubeObject => ({
  metadata: {
    name: `keda-hpa-${owner}`,
    namespace: "shop",
    ownerReferences: [
      {
        apiVersion: "keda.sh/v1alpha1",
        kind: "ScaledObject",
        name: owner,
        uid: `scaledobject-${owner}`,
        controller: true,
      },
    ],
  },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "search" },
    minReplicas: 1,
    maxReplicas: 9,
    metrics: [...externalMetrics.map((name) => EXTERNAL(name)), RESOURCE],
  },
});
