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
  /** What is held still, by an annotation of KEDA or the policies of its `behavior`. */
  readonly pause: Pause | undefined;
  /** What sets it back to what a repository says: `Helm release 'shop'`, `Argo CD`. */
  readonly managedBy: string | undefined;
}

/** What holds replicas still: all of it, at a number of replicas where one is given, or one direction. */
export interface Pause {
  readonly of: "scaling" | "scale-in" | "scale-out";
  readonly replicas?: number;
  /** `the annotation autoscaling.keda.sh/paused`, or a field of the specification. */
  readonly by: string;
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
const Direction = z.object({ selectPolicy: z.string().nullish() }).nullish();
const Behavior = z.object({ scaleUp: Direction, scaleDown: Direction }).nullish();

/** What the policies of a `behavior` switch off. */
function switchedOff(behavior: z.infer<typeof Behavior>, path: string): Pause | undefined {
  const isOff = (direction: z.infer<typeof Direction>): boolean => direction?.selectPolicy === "Disabled";
  const [noIn, noOut] = [isOff(behavior?.scaleDown), isOff(behavior?.scaleUp)];
  if (noIn && noOut) return { of: "scaling", by: `${path}behavior` };
  if (noIn) return { of: "scale-in", by: `${path}behavior.scaleDown.selectPolicy` };
  return noOut ? { of: "scale-out", by: `${path}behavior.scaleUp.selectPolicy` } : undefined;
}

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
      behavior: Behavior,
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
      pause: switchedOff(spec.behavior, "spec."),
      managedBy: managerOf(metadata),
      externalMetrics: spec.metrics.flatMap(({ external }) => external ?? []),
    };
  });

const Trigger = z.object({
  type: z.string(),
  metricType: z.string().nullish(),
  metadata: StringMap,
});

const PAUSED = "autoscaling.keda.sh/paused";
const annotated = (name: string): string => `the annotation ${name}`;

/** As KEDA reads them: `paused` and the directions are on unless they say false, and a number of replicas goes first. */
function pauseOf(annotations: Readonly<Record<string, string>>): Pause | undefined {
  const isOn = (name: string): boolean =>
    !/^(?:0|f|false)$/i.test((annotations[name] ?? "false").slice(0, 16));
  const replicasText = annotations[`${PAUSED}-replicas`];
  const replicas = Number(replicasText ?? Number.NaN);
  if (replicasText !== undefined && Number.isInteger(replicas) && replicas >= 0) {
    return { of: "scaling", replicas, by: annotated(`${PAUSED}-replicas`) };
  }
  if (isOn(PAUSED)) return { of: "scaling", by: annotated(PAUSED) };
  const [first, second] = (["scale-in", "scale-out"] as const).filter((each) => isOn(`${PAUSED}-${each}`));
  if (first === undefined) return undefined;
  return { of: second === undefined ? first : "scaling", by: annotated(`${PAUSED}-${first}`) };
}

/** A KEDA ScaledObject; its HPA carries the same bounds, except that it cannot go to zero. */
export interface ScaledObject extends Autoscaler {
  readonly uid: string;
  readonly triggers: readonly z.infer<typeof Trigger>[];
  /** KEDA has a number of replicas for when no scaler answers. */
  readonly hasFallback: boolean;
}

export const ScaledObject = z
  .object({
    metadata: Identity.extend({ labels: StringMap, annotations: StringMap }),
    spec: z.object({
      scaleTargetRef: z.object({ kind: z.string().nullish(), name: z.string() }),
      minReplicaCount: Replicas,
      maxReplicaCount: Replicas,
      triggers: ListOf(Trigger, MOST_METRICS),
      fallback: z.object({ replicas: z.number() }).nullish(),
      advanced: z
        .object({ horizontalPodAutoscalerConfig: z.object({ behavior: Behavior }).nullish() })
        .nullish(),
    }),
  })
  .transform(({ metadata, spec }): ScaledObject => {
    const { annotations, name: ownName, namespace, uid } = metadata;
    const { kind, name: targetName } = spec.scaleTargetRef;
    const { advanced, triggers } = spec;
    const { behavior } = advanced?.horizontalPodAutoscalerConfig ?? {};
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
      pause: pauseOf(annotations) ?? switchedOff(behavior, "spec.advanced.horizontalPodAutoscalerConfig."),
      managedBy: managerOf(metadata),
      uid,
      triggers,
      hasFallback: typeof spec.fallback?.replicas === "number",
    };
  });
