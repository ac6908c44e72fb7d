import type { ScaledObject } from "../objects/autoscaler.ts";
import type { FoundAutoscaler } from "./found.ts";

/** Triggers of KEDA that follow what users do now or what the clock says, as Tradewind does. */
const REPLACEABLE = new Set(["cpu", "memory", "cron", "external", "external-push", "http", "prometheus"]);

/** What scales a workload now, and whether anything but that brings work to it. */
export interface ScaledWorkload {
  readonly autoscaler: FoundAutoscaler | undefined;
  readonly scaledObject: ScaledObject | undefined;
  /** A Service leads to it, not only to its metrics. */
  readonly isCalled: boolean;
  readonly isExposed: boolean;
}

/**
 * The scaler that a workload must keep, in words: its load waits in a queue, which neither traces nor CPU show. Undefined where
 * Tradewind can take its place.
 */
export function ownScaler({
  autoscaler,
  isCalled,
  isExposed,
  scaledObject,
}: ScaledWorkload): string | undefined {
  const trigger = scaledObject?.triggers.find(({ type }) => !REPLACEABLE.has(type));
  if (scaledObject !== undefined) {
    const [only] = scaledObject.triggers;
    const kept = trigger ?? (isCalled || isOurs(scaledObject) ? undefined : only);
    if (kept !== undefined) return `ScaledObject '${scaledObject.name}' by the trigger '${kept.type}'`;
  }
  if (autoscaler === undefined || isExposed) return undefined;
  const isExternal = autoscaler.types.includes("External");
  const isOfPods = autoscaler.types.some((type) => type === "Pods" || type === "Object");
  return isExternal || (isOfPods && !isCalled)
    ? `HPA '${autoscaler.name}' by ${autoscaler.measures.join(" and ")}`
    : undefined;
}

const isOurs = ({ triggers }: ScaledObject): boolean =>
  triggers.every(({ metadata, type }) => type.startsWith("external") && metadata["service"] !== undefined);
