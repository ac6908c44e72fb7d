import { z } from "zod";
import { ListOf } from "./bounded.ts";
import { Identity, Timestamp } from "./metadata.ts";
import { Quantity, Resources } from "./quantity.ts";

/** Containers, and what else a VPA lists one by one. */
const MOST_LISTED = 250;

const ContainerPolicy = z.object({
  containerName: z.string().nullish(),
  mode: z.string().nullish(),
  minAllowed: Resources.nullish(),
  maxAllowed: Resources.nullish(),
  controlledResources: ListOf(z.string(), MOST_LISTED).nullish(),
  controlledValues: z.string().nullish(),
});
export type ContainerPolicy = z.infer<typeof ContainerPolicy>;

const MOST_RESOURCES = 100;
const ResourceList = z
  .custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
  .refine((value) => Object.keys(value).length <= MOST_RESOURCES, {
    abort: true,
    message: `has more than ${MOST_RESOURCES} resources`,
  })
  .pipe(z.record(z.string(), Quantity));

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
      resourcePolicy: z.object({ containerPolicies: ListOf(ContainerPolicy, MOST_LISTED) }).nullish(),
      recommenders: ListOf(z.object({ name: z.string() }), MOST_LISTED),
    }),
    status: z
      .object({
        recommendation: z
          .object({ containerRecommendations: ListOf(ContainerRecommendation, MOST_LISTED) })
          .nullish(),
        conditions: ListOf(VpaCondition, MOST_LISTED),
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
    recommenders: spec.recommenders.map(({ name }) => name),
    recommendations: status?.recommendation?.containerRecommendations ?? [],
    conditions: status?.conditions ?? [],
  }));
export type VerticalPodAutoscaler = z.infer<typeof VerticalPodAutoscaler>;
