import type { ScaledObject } from "../objects/autoscaler.ts";
import type { FoundAutoscaler } from "./found.ts";

/** Triggers of KEDA that follow what users do now or what the clock says, as Tradewind does. */
const REPLACEABLE = new Set(["cpu", "memory", "cron", "external", "external-push", "http", "prometheus"]);

/** Words of a query or a metric that measures what waits. */
const WAITING = new Set(
  "queue queues queued enqueued backlog lag unacked unacknowledged undelivered messages".split(" "),
);
const MOST_TEXT = 2_000;

const measuresQueue = (text: string): boolean =>
  text
    .slice(0, MOST_TEXT)
    .toLowerCase()
    .split(/[^a-z]+/)
    .some((word) => WAITING.has(word));

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
  const trigger = scaledObject?.triggers.find(
    ({ metadata, type }) =>
      !REPLACEABLE.has(type) ||
      (type === "prometheus" && !isExposed && measuresQueue(Object.values(metadata).join(" "))),
  );
  if (scaledObject !== undefined) {
    const [only] = scaledObject.triggers;
    const kept = trigger ?? (isCalled || isOurs(scaledObject) ? undefined : only);
    if (kept !== undefined) return `ScaledObject '${scaledObject.name}' by the trigger '${kept.type}'`;
  }
  if (autoscaler === undefined || isExposed) return undefined;
  const isExternal = autoscaler.types.includes("External");
  const isOfPods = autoscaler.types.some((type) => type === "Pods" || type === "Object");
  return isExternal || (isOfPods && (!isCalled || autoscaler.measures.some(measuresQueue)))
    ? `HPA '${autoscaler.name}' by ${autoscaler.measures.join(" and ")}`
    : undefined;
}

const isOurs = ({ triggers }: ScaledObject): boolean =>
  triggers.every(({ metadata, type }) => type.startsWith("external") && metadata["service"] !== undefined);
