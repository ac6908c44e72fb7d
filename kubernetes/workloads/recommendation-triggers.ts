import type { HorizontalPodAutoscaler, ScaledObject } from "../objects/autoscaler.ts";

/** A ScaledObject that asks Tradewind for a service's replicas, and what KEDA made of it. */
export interface RecommendationTrigger {
  readonly namespace: string;
  readonly scaledObject: { readonly name: string; readonly uid: string };
  /** As the trigger names it; the target's name where it comes from an environment variable. */
  readonly service: string;
  /** The HPA that KEDA made; undefined before, and while the ScaledObject is paused. */
  readonly hpa: string | undefined;
  /**
   * The HPA reads other metrics and not the trigger's. KEDA writes such an HPA whenever it reconciles while no scaler answers
   * and another trigger, such as `cpu`, needs none of ours; it says Ready=True and leaves the HPA so (seen with KEDA 2.20.2).
   */
  readonly lost: boolean;
  /** Types of the triggers beside it: with one of them KEDA can write an HPA without this one. */
  readonly otherTriggers: readonly string[];
}

/** KEDA's name for the one metric that a formula over all triggers gives (`scalingModifiers`). */
const COMPOSITE = "composite-metric";

/** The triggers that ask Tradewind, by namespace and name of their ScaledObject. */
export function recommendationTriggers(
  scaledObjects: readonly ScaledObject[],
  horizontalPodAutoscalers: readonly HorizontalPodAutoscaler[],
): RecommendationTrigger[] {
  const key = (namespace: string, scaledObject: string): string => `${namespace}/${scaledObject}`;
  const made = new Map<string, HorizontalPodAutoscaler>();
  for (const each of horizontalPodAutoscalers) {
    if (each.scaledObject !== undefined) made.set(key(each.namespace, each.scaledObject), each);
  }
  return scaledObjects
    .flatMap((each) => triggersOf(each, made.get(key(each.namespace, each.name))))
    .sort((a, b) => (key(a.namespace, a.scaledObject.name) < key(b.namespace, b.scaledObject.name) ? -1 : 1));
}

function triggersOf(
  { name, namespace, target, triggers, uid }: ScaledObject,
  hpa: HorizontalPodAutoscaler | undefined,
): RecommendationTrigger[] {
  return triggers.flatMap(({ metadata, type }, index) => {
    const isOurs = metadata["service"] !== undefined || metadata["serviceFromEnv"] !== undefined;
    if (!isOurs || (type !== "external" && type !== "external-push")) return [];
    // KEDA puts the trigger's place in the list before the scaler's own name: `s0-recommended-replicas`.
    const isRead = hpa?.externalMetrics.some(
      (metric) => metric === COMPOSITE || metric.startsWith(`s${index}-`),
    );
    const service = metadata["service"]?.trim() ?? "";
    return [
      {
        namespace,
        scaledObject: { name, uid },
        service: service === "" ? target.name : service,
        hpa: hpa?.name,
        lost: isRead === false,
        otherTriggers: triggers.filter((_, place) => place !== index).map((other) => other.type),
      },
    ];
  });
}
