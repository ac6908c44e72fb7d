import type { Autoscaler, HorizontalPodAutoscaler, Pause, ScaledObject } from "../objects/autoscaler.ts";

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
  /**
   * The trigger's `metricType`, or the target's type in the HPA, is not `AverageValue`. The HPA then multiplies the number
   * recommended by the pods that are ready, so it ends at the maximum.
   */
  readonly multiplies: boolean;
  readonly pause: Pause | undefined;
  readonly workload: { readonly kind: string; readonly name: string };
  /** What else scales the same workload: `HPA 'cart'`. */
  readonly rivals: readonly string[];
  readonly managedBy: string | undefined;
}

/** KEDA's name for the one metric that a formula over all triggers gives (`scalingModifiers`). */
const COMPOSITE = "composite-metric";

const AVERAGE = "AverageValue";

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
  const scalers = scalersByTarget(scaledObjects, horizontalPodAutoscalers);
  return scaledObjects
    .flatMap((each) => {
      const own = `ScaledObject '${each.name}'`;
      const rivals = (scalers.get(targetKey(each)) ?? []).filter((name) => name !== own);
      return triggersOf(each, made.get(key(each.namespace, each.name)), rivals);
    })
    .sort((a, b) => (key(a.namespace, a.scaledObject.name) < key(b.namespace, b.scaledObject.name) ? -1 : 1));
}

export const targetKey = ({ namespace, target }: Pick<Autoscaler, "namespace" | "target">): string =>
  `${namespace}/${target.kind}/${target.name}`;

/** What scales each workload, `HPA 'cart'`; an HPA that a ScaledObject made goes by the name of that. */
function scalersByTarget(
  scaledObjects: readonly ScaledObject[],
  horizontalPodAutoscalers: readonly HorizontalPodAutoscaler[],
): ReadonlyMap<string, readonly string[]> {
  const scalers = new Map<string, string[]>();
  const add = (autoscaler: Autoscaler, kind: string): void => {
    const place = targetKey(autoscaler);
    const names = scalers.get(place) ?? [];
    names.push(`${kind} '${autoscaler.name}'`);
    scalers.set(place, names);
  };
  for (const each of horizontalPodAutoscalers) if (each.scaledObject === undefined) add(each, "HPA");
  for (const each of scaledObjects) add(each, "ScaledObject");
  return scalers;
}

function triggersOf(
  { managedBy, name, namespace, pause, target, triggers, uid }: ScaledObject,
  hpa: HorizontalPodAutoscaler | undefined,
  rivals: readonly string[],
): RecommendationTrigger[] {
  return triggers.flatMap(({ metadata, metricType, type }, index) => {
    const isOurs = metadata["service"] !== undefined || metadata["serviceFromEnv"] !== undefined;
    if (!isOurs || (type !== "external" && type !== "external-push")) return [];
    // KEDA puts the trigger's place in the list before the scaler's own name: `s0-recommended-replicas`.
    const read = hpa?.externalMetrics.find(
      (metric) => metric.name === COMPOSITE || metric.name.startsWith(`s${index}-`),
    );
    const service = metadata["service"]?.trim() ?? "";
    return [
      {
        namespace,
        scaledObject: { name, uid },
        service: service === "" ? target.name : service,
        hpa: hpa?.name,
        lost: hpa !== undefined && read === undefined,
        otherTriggers: triggers.filter((_, place) => place !== index).map((other) => other.type),
        multiplies: (metricType ?? AVERAGE) !== AVERAGE || (read?.targetType ?? AVERAGE) !== AVERAGE,
        pause,
        workload: target,
        rivals,
        managedBy,
      },
    ];
  });
}

/** `KEDA is paused at 5 replicas`, `scale-in is paused`. */
export function pausedInWords({ of, replicas }: Pause): string {
  if (of !== "scaling") return `KEDA's ${of} is paused`;
  return replicas === undefined ? "KEDA is paused" : `KEDA is paused at ${replicas} replicas`;
}
