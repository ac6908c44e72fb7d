import { apiVersionOf, RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { pausedInWords } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { RecommendationTrigger } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { EventRecorder } from "@tradewind/kubernetes/write/events.ts";
import type { LeaderPart, Scene } from "../scene/part.ts";

/** Events are kept for an hour, so one that still holds is written again before. */
const REPEAT_MS = 30 * 60_000;

/**
 * Writes an event on each ScaledObject whose HPA lost our trigger or does something else than what is recommended, where
 * `kubectl describe scaledobject` shows it.
 */
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
    const told = [...namespaces]
      .flatMap((namespace) => view(namespace)?.workloads.triggers() ?? [])
      .flatMap((trigger) => {
        const report = reportOn(trigger);
        return report === undefined ? [] : [{ trigger, report }];
      });
    const seen = new Map<string, number | undefined>();
    for (const { report, trigger } of told) {
      const uid = `${trigger.scaledObject.uid}/${report.reason}`;
      const toldMs = this.seen.get(uid);
      // KEDA writes the HPA a moment after the ScaledObject has changed: one look proves nothing.
      const isDue = this.seen.has(uid) && (toldMs === undefined || monotonicMs - toldMs >= REPEAT_MS);
      if (isDue) await this.recorder.record(eventOf(trigger, report), signal);
      seen.set(uid, isDue ? monotonicMs : toldMs);
    }
    this.seen = seen;
  }
}

type Report = Pick<Parameters<EventRecorder["record"]>[0], "reason" | "note">;

/** The worst that is wrong with what KEDA and the HPA make of a recommendation; undefined where nothing is. */
function reportOn({
  hpa,
  lost,
  managedBy,
  multiplies,
  pause,
  rivals,
  service,
  workload,
}: RecommendationTrigger): Report | undefined {
  const where =
    managedBy === undefined ? "" : `, where ${managedBy} has it from: it would set back what is changed here`;
  if (lost) {
    return {
      reason: "RecommendationNotRead",
      note: `HPA '${hpa ?? ""}' does not read the replicas recommended for ${service}: KEDA wrote it while no scaler answered. Remove the other triggers, or change the ScaledObject's spec while a scaler answers (docs/alerts.md, TradewindHpaWithoutRecommendation)`,
    };
  }
  if (multiplies) {
    return {
      reason: "RecommendationMultiplied",
      note: `metricType Value: the HPA would multiply the replicas recommended for ${service} by the pods that are ready. It is answered no number until metricType is removed from Tradewind's trigger${where}`,
    };
  }
  if (rivals.length > 0) {
    return {
      reason: "SeveralAutoscalers",
      note: `${workload.kind} '${workload.name}' is scaled by ${rivals.join(" and ")} too: leave one of them`.slice(
        0,
        900,
      ),
    };
  }
  return (
    pause && {
      reason: "ScalingPaused",
      note: `${pausedInWords(pause)} for ${service}: recommendations are not carried out until ${pause.by} is removed${where}`,
    }
  );
}

function eventOf(
  { namespace, scaledObject }: RecommendationTrigger,
  { note, reason }: Report,
): Parameters<EventRecorder["record"]>[0] {
  const { scaledObjects } = RESOURCES;
  return {
    type: "Warning",
    reason,
    action: "Hold",
    note,
    regarding: {
      apiVersion: apiVersionOf(scaledObjects),
      kind: scaledObjects.kind,
      namespace,
      ...scaledObject,
    },
  };
}
