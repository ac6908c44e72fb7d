import { z } from "zod";
import { Identity, Timestamp } from "./metadata.ts";
import { Quantity, Resources } from "./quantity.ts";

const ContainerPolicy = z.object({
  containerName: z.string().nullish(),
  mode: z.string().nullish(),
  minAllowed: Resources.nullish(),
  maxAllowed: Resources.nullish(),
  controlledResources: z.array(z.string()).nullish(),
  controlledValues: z.string().nullish(),
});
export type ContainerPolicy = z.infer<typeof ContainerPolicy>;

const ResourceList = z.record(z.string(), Quantity);

/** What a VPA's status recommends for one container, in cores and bytes. */
export interface StoredRecommendation {
  readonly containerName: string;
  readonly target: Readonly<Record<string, number>>;
  readonly lowerBound?: Readonly<Record<string, number>> | undefined;
  readonly upperBound?: Readonly<Record<string, number>> | undefined;
  readonly uncappedTarget?: Readonly<Record<string, number>> | undefined;
}

const ContainerRecommendation = z
  .object({
    containerName: z.string(),
    target: ResourceList,
    lowerBound: ResourceList.optional(),
    upperBound: ResourceList.optional(),
    uncappedTarget: ResourceList.optional(),
  })
  .transform((stored): StoredRecommendation => stored);

const VpaCondition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  message: z.string().nullish(),
  lastTransitionTime: Timestamp,
});
export type VpaCondition = z.infer<typeof VpaCondition>;

/** An `autoscaling.k8s.io/v1` VerticalPodAutoscaler. */
export const VerticalPodAutoscaler = z
  .object({
    metadata: Identity.extend({ generation: z.number().optional() }),
    spec: z.object({
      targetRef: z.object({ kind: z.string(), name: z.string() }).nullish(),
      updatePolicy: z.object({ updateMode: z.string().nullish() }).nullish(),
      resourcePolicy: z.object({ containerPolicies: z.array(ContainerPolicy).nullish() }).nullish(),
      recommenders: z.array(z.object({ name: z.string() })).nullish(),
    }),
    status: z
      .object({
        recommendation: z
          .object({ containerRecommendations: z.array(ContainerRecommendation).nullish() })
          .nullish(),
        conditions: z.array(VpaCondition).nullish(),
      })
      .nullish(),
  })
  .transform(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation,
    target: spec.targetRef ?? undefined,
    /** `Recreate` where nothing is said. */
    updateMode: spec.updatePolicy?.updateMode ?? "Recreate",
    policies: spec.resourcePolicy?.containerPolicies ?? [],
    recommenders: (spec.recommenders ?? []).map(({ name }) => name),
    recommendations: status?.recommendation?.containerRecommendations ?? [],
    conditions: status?.conditions ?? [],
  }));
export type VerticalPodAutoscaler = z.infer<typeof VerticalPodAutoscaler>;
