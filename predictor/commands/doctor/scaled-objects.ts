import { ApiError } from "@tradewind/kubernetes/client/api-error.ts";
import type { ApiClient } from "@tradewind/kubernetes/client/client.ts";
import { RESOURCES } from "@tradewind/kubernetes/client/resources.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "@tradewind/kubernetes/objects/autoscaler.ts";
import {
  pausedInWords,
  recommendationTriggers,
} from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { RecommendationTrigger } from "@tradewind/kubernetes/workloads/recommendation-triggers.ts";
import type { Finding } from "../../sources/source.ts";
import { listed } from "./listed.ts";

/**
 * Whether the HPAs that KEDA made of our ScaledObjects read what is recommended, and whether they could lose it. Nothing is said
 * where KEDA is not installed, or the right to read is missing: the rights are examined by themselves.
 * @param places namespaces; undefined for all at once
 */
export async function examineScaledObjects(
  client: ApiClient,
  places: readonly (string | undefined)[],
): Promise<Finding[]> {
  try {
    const triggers: RecommendationTrigger[] = [];
    for (const namespace of places) {
      const scaledObjects = await listed(client, RESOURCES.scaledObjects, namespace, ScaledObject);
      const hpas = await listed(
        client,
        RESOURCES.horizontalPodAutoscalers,
        namespace,
        HorizontalPodAutoscaler,
      );
      triggers.push(...recommendationTriggers(scaledObjects, hpas));
    }
    const bad = triggers.flatMap((trigger) => [...whatIsWrong(trigger), ...besides(trigger)]);
    if (triggers.length === 0 || bad.length > 0) return bad;
    const made = triggers.filter(({ hpa }) => hpa !== undefined).length;
    return [
      {
        subject: "ScaledObjects",
        level: "ok",
        message: `${triggers.length} ask Tradewind, and ${made} HPAs read what it recommends`,
      },
    ];
  } catch (error) {
    if (error instanceof ApiError && (error.isMissing || error.isForbidden)) return [];
    throw error;
  }
}

function whatIsWrong({
  hpa,
  lost,
  namespace,
  otherTriggers,
  scaledObject: { name },
}: RecommendationTrigger): Finding[] {
  const subject = `ScaledObject ${namespace}/${name}`;
  const others = [...new Set(otherTriggers)].map((other) => `'${other}'`).join(" and ");
  if (lost) {
    const touch = `kubectl --namespace ${namespace} patch scaledobject ${name} --type merge --patch '{"spec":{"pollingInterval":16}}'`;
    return [
      {
        subject,
        level: "problem",
        message: `HPA '${hpa ?? ""}' does not read what Tradewind recommends; KEDA wrote it while no scaler answered`,
        remedy: `while a scaler answers: ${others === "" ? "" : `remove the trigger ${others}, or `}change its spec, for example ${touch}`,
      },
    ];
  }
  if (others === "") return [];
  return [
    {
      subject,
      level: "warning",
      message: `beside the trigger ${others} KEDA drops Tradewind from the HPA when the spec is edited while no scaler answers`,
      remedy: `remove the trigger ${others}; docs/keda.md says what holds without it`,
    },
  ];
}

/** What keeps a recommendation from being carried out as it is, whatever the HPA reads. */
function besides({
  managedBy,
  multiplies,
  namespace,
  pause,
  rivals,
  scaledObject: { name },
  workload,
}: RecommendationTrigger): Finding[] {
  const subject = `ScaledObject ${namespace}/${name}`;
  const where = managedBy === undefined ? "" : `, where ${managedBy} has it from`;
  return [
    ...(multiplies
      ? [
          {
            subject,
            level: "problem" as const,
            message:
              "the trigger has metricType Value, by which the HPA multiplies the number recommended by the pods that run: it ends at the maximum and stays there",
            remedy: `remove metricType from Tradewind's trigger, or write AverageValue${where}`,
          },
        ]
      : []),
    ...(rivals.length > 0
      ? [
          {
            subject,
            level: "problem" as const,
            message: `${workload.kind} '${workload.name}' is scaled by ${rivals.join(" and ")} too: each sets back what the other did`,
            remedy: "leave one of them",
          },
        ]
      : []),
    ...(pause === undefined
      ? []
      : [
          {
            subject,
            level: "warning" as const,
            message: `${pausedInWords(pause)}: recommendations are not carried out`,
            remedy: `remove ${pause.by}${where} to go on`,
          },
        ]),
  ];
}
