import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import type { RecommendationTrigger } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { EventRecorder } from "@tradewind/kubernetes/write/events.ts";
import type { LeaderPart, Scene } from "../scene/part.ts";

/** Events are kept for an hour, so one that still holds is written again before. */
const REPEAT_MS = 30 * 60_000;

/** Writes an event on each ScaledObject whose HPA lost our trigger, where `kubectl describe scaledobject` shows it. */
export class TriggersPart implements LeaderPart {
  readonly name = "triggers";
  private readonly recorder: EventRecorder;
  /** When an event was last written, by uid of the ScaledObject; undefined after the first look only. */
  private seen = new Map<string, number | undefined>();

  constructor(recorder: EventRecorder) {
    this.recorder = recorder;
  }

  async reconcile({ list, monotonicMs, view }: Scene, signal: AbortSignal): Promise<void> {
    const namespaces = new Set(list.recommendations.map(({ namespace }) => namespace));
    const lost = [...namespaces]
      .flatMap((namespace) => view(namespace)?.workloads.triggers() ?? [])
      .filter((trigger) => trigger.lost);
    const seen = new Map<string, number | undefined>();
    for (const trigger of lost) {
      const { uid } = trigger.scaledObject;
      const toldMs = this.seen.get(uid);
      // KEDA writes the HPA a moment after the ScaledObject has changed: one look proves nothing.
      const isDue = this.seen.has(uid) && (toldMs === undefined || monotonicMs - toldMs >= REPEAT_MS);
      if (isDue) await this.recorder.record(eventOf(trigger), signal);
      seen.set(uid, isDue ? monotonicMs : toldMs);
    }
    this.seen = seen;
  }
}

function eventOf({
  hpa,
  namespace,
  scaledObject,
  service,
}: RecommendationTrigger): Parameters<EventRecorder["record"]>[0] {
  const { scaledObjects } = RESOURCES;
  return {
    type: "Warning",
    reason: "RecommendationNotRead",
    action: "Hold",
    note: `HPA '${hpa ?? ""}' does not read the replicas recommended for ${service}: KEDA wrote it while no scaler answered. Remove the other triggers, or change the ScaledObject's spec while a scaler answers (docs/alerts.md, TradewindHpaWithoutRecommendation)`,
    regarding: {
      apiVersion: apiVersionOf(scaledObjects),
      kind: scaledObjects.kind,
      namespace,
      ...scaledObject,
    },
  };
}
