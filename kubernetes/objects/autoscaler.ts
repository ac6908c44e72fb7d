import { z } from "zod";
import { ListOf } from "./bounded.ts";
import { Controller, Identity, managerOf, StringMap } from "./metadata.ts";

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
  /** Held still in both directions. */
  readonly isPaused: boolean;
  /** What sets it back to what a repository says: `Helm release 'shop'`, `Argo CD`. */
  readonly managedBy: string | undefined;
}

/** Metrics of an HPA, triggers of a ScaledObject. */
const MOST_METRICS = 250;

const Replicas = z.number().int().min(0).nullish();

/** A target says how it is held against; before `autoscaling/v2` it was a number beside the name. */
const Target = z
  .object({ type: z.string() })
  .nullish()
  .transform((target) => target?.type);
const ResourceMetric = z
  .object({ name: z.string(), target: Target, targetAverageUtilization: z.number().nullish() })
  .transform(({ name, target, targetAverageUtilization }) => ({
    name,
    targetType: target ?? (typeof targetAverageUtilization === "number" ? "Utilization" : undefined),
  }))
  .nullish();
const Metric = z.object({
  resource: ResourceMetric,
  containerResource: ResourceMetric,
  external: z
    .object({
      metric: z.object({ name: z.string() }).nullish(),
      metricName: z.string().nullish(),
      target: Target,
    })
    .transform(({ metric, metricName, target }) => ({
      name: metric?.name ?? metricName ?? "",
      targetType: target,
    }))
    .nullish(),
});

/** An external metric of an HPA: what it asks KEDA for. */
export interface ExternalMetric {
  readonly name: string;
  /** `Value` multiplies by the pods that are ready, `AverageValue` does not. */
  readonly targetType: string | undefined;
}

/** An `autoscaling/v2` HorizontalPodAutoscaler. */
export interface HorizontalPodAutoscaler extends Autoscaler {
  readonly externalMetrics: readonly ExternalMetric[];
}

export const HorizontalPodAutoscaler = z
  .object({
    metadata: Identity.extend({ ownerReferences: Controller, labels: StringMap, annotations: StringMap }),
    spec: z.object({
      scaleTargetRef: z.object({ kind: z.string(), name: z.string() }),
      minReplicas: Replicas,
      maxReplicas: z.number().int().min(0),
      metrics: ListOf(Metric, MOST_METRICS),
    }),
  })
  .transform(({ metadata, spec }): HorizontalPodAutoscaler => {
    const { name, namespace, ownerReferences } = metadata;
    const sources = spec.metrics.flatMap(({ resource, containerResource }) => [resource, containerResource]);
    const isAgainst = (name: string): boolean =>
      sources.some((source) => source?.name === name && source.targetType === "Utilization");
    return {
      namespace,
      name,
      target: spec.scaleTargetRef,
      minReplicas: spec.minReplicas ?? 1,
      maxReplicas: spec.maxReplicas,
      utilisationOf: (["cpu", "memory"] as const).filter((resource) => isAgainst(resource)),
      scaledObject: ownerReferences?.kind === "ScaledObject" ? ownerReferences.name : undefined,
      isPaused: false,
      managedBy: managerOf(metadata),
      externalMetrics: spec.metrics.flatMap(({ external }) => external ?? []),
    };
  });

const Trigger = z.object({
  type: z.string(),
  metricType: z.string().nullish(),
  metadata: StringMap,
});

/** What an annotation of KEDA holds still: all of it, at a number of replicas where one is given, or one direction. */
export interface Pause {
  readonly of: "scaling" | "scale-in" | "scale-out";
  readonly replicas?: number;
  readonly annotation: string;
}

const PAUSED = "autoscaling.keda.sh/paused";

/** As KEDA reads them: `paused` and the directions are on unless they say false, and a number of replicas goes first. */
function pauseOf(annotations: Readonly<Record<string, string>>): Pause | undefined {
  const isOn = (name: string): boolean =>
    !/^(?:0|f|false)$/i.test((annotations[name] ?? "false").slice(0, 16));
  const replicasText = annotations[`${PAUSED}-replicas`];
  const replicas = Number(replicasText ?? Number.NaN);
  if (replicasText !== undefined && Number.isInteger(replicas) && replicas >= 0) {
    return { of: "scaling", replicas, annotation: `${PAUSED}-replicas` };
  }
  if (isOn(PAUSED)) return { of: "scaling", annotation: PAUSED };
  const direction = (["scale-in", "scale-out"] as const).find((each) => isOn(`${PAUSED}-${each}`));
  return direction && { of: direction, annotation: `${PAUSED}-${direction}` };
}

/** A KEDA ScaledObject; its HPA carries the same bounds, except that it cannot go to zero. */
export interface ScaledObject extends Autoscaler {
  readonly uid: string;
  readonly triggers: readonly z.infer<typeof Trigger>[];
  readonly pause: Pause | undefined;
}

export const ScaledObject = z
  .object({
    metadata: Identity.extend({ labels: StringMap, annotations: StringMap }),
    spec: z.object({
      scaleTargetRef: z.object({ kind: z.string().nullish(), name: z.string() }),
      minReplicaCount: Replicas,
      maxReplicaCount: Replicas,
      triggers: ListOf(Trigger, MOST_METRICS),
    }),
  })
  .transform(({ metadata, spec }): ScaledObject => {
    const { annotations, name: ownName, namespace, uid } = metadata;
    const { kind, name: targetName } = spec.scaleTargetRef;
    const { triggers } = spec;
    const pause = pauseOf(annotations);
    return {
      namespace,
      name: ownName,
      target: { kind: kind ?? "Deployment", name: targetName },
      minReplicas: spec.minReplicaCount ?? 0,
      maxReplicas: spec.maxReplicaCount ?? 100,
      utilisationOf: (["cpu", "memory"] as const).filter((resource) =>
        triggers.some(
          ({ type, metricType, metadata }) =>
            type === resource && (metricType ?? metadata["type"] ?? "Utilization") === "Utilization",
        ),
      ),
      scaledObject: ownName,
      isPaused: pause?.of === "scaling",
      managedBy: managerOf(metadata),
      uid,
      triggers,
      pause,
    };
  });
