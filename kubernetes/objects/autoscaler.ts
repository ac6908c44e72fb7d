import { z } from "zod";
import { ListOf } from "./bounded.ts";
import { Controller, Identity, StringMap } from "./metadata.ts";

/** What scales a workload, and between which bounds. */
export interface Autoscaler {
  readonly namespace: string;
  readonly name: string;
  readonly target: { readonly kind: string; readonly name: string };
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** Resources whose use is held against their *request* (`Utilization`): to change the request moves the scale point. */
  readonly utilisationOf: readonly ("cpu" | "memory")[];
  /** The ScaledObject that made it. */
  readonly scaledObject: string | undefined;
}

/** Metrics of an HPA, triggers of a ScaledObject. */
const MOST_METRICS = 250;

const Replicas = z.number().int().min(0).nullish();

const Metric = z.object({
  resource: z.object({ name: z.string(), target: z.object({ type: z.string() }) }).nullish(),
  containerResource: z.object({ name: z.string(), target: z.object({ type: z.string() }) }).nullish(),
  external: z.object({ metric: z.object({ name: z.string() }) }).nullish(),
});

/** An `autoscaling/v2` HorizontalPodAutoscaler. */
export interface HorizontalPodAutoscaler extends Autoscaler {
  /** Names of its external metrics: what it asks KEDA for. */
  readonly externalMetrics: readonly string[];
}

export const HorizontalPodAutoscaler = z
  .object({
    metadata: Identity.extend({ ownerReferences: Controller }),
    spec: z.object({
      scaleTargetRef: z.object({ kind: z.string(), name: z.string() }),
      minReplicas: Replicas,
      maxReplicas: z.number().int().min(0),
      metrics: ListOf(Metric, MOST_METRICS),
    }),
  })
  .transform(({ metadata: { name, namespace, ownerReferences }, spec }): HorizontalPodAutoscaler => {
    const sources = spec.metrics.flatMap(({ resource, containerResource }) => [resource, containerResource]);
    const isAgainst = (name: string): boolean =>
      sources.some((source) => source?.name === name && source.target.type === "Utilization");
    return {
      namespace,
      name,
      target: spec.scaleTargetRef,
      minReplicas: spec.minReplicas ?? 1,
      maxReplicas: spec.maxReplicas,
      utilisationOf: (["cpu", "memory"] as const).filter((resource) => isAgainst(resource)),
      scaledObject: ownerReferences?.kind === "ScaledObject" ? ownerReferences.name : undefined,
      externalMetrics: spec.metrics.flatMap(({ external }) => external?.metric.name ?? []),
    };
  });

const Trigger = z.object({
  type: z.string(),
  metricType: z.string().nullish(),
  metadata: StringMap,
});

/** A KEDA ScaledObject; its HPA carries the same bounds, except that it cannot go to zero. */
export interface ScaledObject extends Autoscaler {
  readonly uid: string;
  readonly triggers: readonly z.infer<typeof Trigger>[];
}

export const ScaledObject = z
  .object({
    metadata: Identity,
    spec: z.object({
      scaleTargetRef: z.object({ kind: z.string().nullish(), name: z.string() }),
      minReplicaCount: Replicas,
      maxReplicaCount: Replicas,
      triggers: ListOf(Trigger, MOST_METRICS),
    }),
  })
  .transform(({ metadata: { name, namespace, uid }, spec }): ScaledObject => {
    const { kind, name: targetName } = spec.scaleTargetRef;
    const { triggers } = spec;
    return {
      namespace,
      name,
      target: { kind: kind ?? "Deployment", name: targetName },
      minReplicas: spec.minReplicaCount ?? 0,
      maxReplicas: spec.maxReplicaCount ?? 100,
      utilisationOf: (["cpu", "memory"] as const).filter((resource) =>
        triggers.some(
          ({ type, metricType, metadata }) =>
            type === resource && (metricType ?? metadata["type"] ?? "Utilization") === "Utilization",
        ),
      ),
      scaledObject: name,
      uid,
      triggers,
    };
  });
