import { apiVersionOf, apiVersionOfScalable, RESOURCES } from "../client/resources.ts";
import { yamlDocument } from "./document.ts";
import type { Remark } from "./document.ts";
import type { SurveyedWorkload } from "./survey.ts";
import { replicaBounds } from "./write-application.ts";

/** How a trigger reaches a service's recommendation. */
export interface TriggerTarget {
  readonly scalerAddress: string;
  /** Written where a person named it: a namespace with several applications needs it. */
  readonly application: string | undefined;
}

/** Tradewind's trigger. It stays alone: beside another one KEDA can lose it (docs/keda.md). */
export function tradewindTrigger(
  service: string,
  { application, scalerAddress }: TriggerTarget,
): Record<string, unknown> {
  return {
    type: "external",
    name: "tradewind",
    metadata: { scalerAddress, service, ...(application !== undefined && { application }) },
  };
}

/** A ScaledObject that KEDA's weak spots do not hurt; docs/keda.md explains each part. */
export function scaledObjectYaml(each: SurveyedWorkload, target: TriggerTarget): string {
  const { autoscaler, service, workload } = each;
  const { max, min } = replicaBounds(each);
  const { scaledObjects } = RESOURCES;
  const object = {
    apiVersion: apiVersionOf(scaledObjects),
    kind: scaledObjects.kind,
    metadata: {
      name: workload.name,
      namespace: workload.namespace,
      ...(autoscaler !== undefined && {
        annotations: { "scaledobject.keda.sh/transfer-hpa-ownership": "true" },
      }),
    },
    spec: {
      scaleTargetRef: {
        ...(workload.kind !== "Deployment" && {
          apiVersion: apiVersionOfScalable(workload),
          kind: workload.kind,
        }),
        name: workload.name,
      },
      pollingInterval: 15,
      minReplicaCount: min,
      maxReplicaCount: max,
      fallback: {
        failureThreshold: 3,
        replicas: Math.min(max, Math.max(min, workload.replicasWanted)),
        behavior: "currentReplicasIfHigher",
      },
      advanced: {
        horizontalPodAutoscalerConfig: {
          ...(autoscaler !== undefined && { name: autoscaler.name }),
          behavior: {
            // What somebody chose for this workload stays; only the tolerance must be none.
            scaleUp: {
              tolerance: "0",
              ...(autoscaler?.behavior?.["scaleUp"] === undefined
                ? {
                    stabilizationWindowSeconds: 0,
                    policies: [
                      { type: "Percent", value: 400, periodSeconds: 15 },
                      { type: "Pods", value: 4, periodSeconds: 15 },
                    ],
                  }
                : rulesOf(autoscaler.behavior["scaleUp"])),
            },
            scaleDown: {
              tolerance: "0",
              ...(autoscaler?.behavior?.["scaleDown"] === undefined
                ? { stabilizationWindowSeconds: 120 }
                : rulesOf(autoscaler.behavior["scaleDown"])),
            },
          },
        },
      },
      triggers: [tradewindTrigger(service, target)],
    },
  };
  return yamlDocument(object, remarksOf(each));
}

/** The rules of one direction of an HPA's behaviour without its tolerance. */
function rulesOf(direction: unknown): Record<string, unknown> {
  if (typeof direction !== "object" || direction === null) return {};
  return Object.fromEntries(Object.entries(direction).filter(([name]) => name !== "tolerance"));
}

function remarksOf({ autoscaler }: SurveyedWorkload): Remark[] {
  const behavior = ["spec", "advanced", "horizontalPodAutoscalerConfig", "behavior"];
  return [
    { path: ["spec", "fallback"], above: "While Tradewind cannot say: never fewer than now." },
    { path: ["spec", "fallback", "replicas"], beside: "what runs now: set what carries a normal day" },
    {
      path: [...behavior, "scaleUp", "tolerance"],
      beside: "exactly the number recommended; KEDA 2.18, Kubernetes 1.35 or newer",
    },
    ...(["scaleUp", "scaleDown"] as const)
      .filter((direction) => autoscaler?.behavior?.[direction] !== undefined)
      .map((direction) => ({
        path: [...behavior, direction],
        above: `As in HPA '${autoscaler?.name ?? ""}'.`,
      })),
    ...(autoscaler === undefined
      ? []
      : [
          {
            path: ["metadata", "annotations", "scaledobject.keda.sh/transfer-hpa-ownership"],
            beside: `takes over HPA '${autoscaler.name}': apply it once the Application's mode is act`,
          },
        ]),
    {
      path: ["spec", "triggers"],
      above:
        "No other trigger beside it: KEDA would drop this one from the HPA when it reconciles while no scaler answers.",
    },
  ];
}
