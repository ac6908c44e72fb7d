import { apiVersionOf, RESOURCES } from "../client/resources.ts";
import { formatCores } from "../objects/quantity.ts";
import { yamlDocument } from "./document.ts";
import type { Remark } from "./document.ts";
import type { SurveyedWorkload } from "./survey.ts";
import { replicaBounds } from "./write-application.ts";

/** The HPA takes over before a container is this near to its limit, whatever Tradewind says. */
const LIMIT_SHARE = 0.8;

/** The external trigger alone, for a ScaledObject that exists already. */
export function tradewindTrigger(service: string, scalerAddress: string): Record<string, unknown> {
  return { type: "external", name: "tradewind", metadata: { scalerAddress, service } };
}

/** A ScaledObject that KEDA's weak spots do not hurt; docs/keda.md explains each part. */
export function scaledObjectYaml(each: SurveyedWorkload, scalerAddress: string): string {
  const { autoscaler, container, service, workload } = each;
  const { max, min } = replicaBounds(each);
  const cores = safetyCores(each);
  const several = workload.containers.length > 1;
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
        ...(workload.kind !== "Deployment" && { kind: workload.kind }),
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
            scaleUp: {
              tolerance: "0",
              stabilizationWindowSeconds: 0,
              policies: [
                { type: "Percent", value: 400, periodSeconds: 15 },
                { type: "Pods", value: 4, periodSeconds: 15 },
              ],
            },
            scaleDown: { tolerance: "0", stabilizationWindowSeconds: 120 },
          },
        },
      },
      triggers: [
        tradewindTrigger(service, scalerAddress),
        ...(cores === undefined
          ? []
          : [
              {
                type: "cpu",
                metricType: "AverageValue",
                metadata: {
                  value: formatCores(cores),
                  ...(several && { containerName: container?.name }),
                },
              },
            ]),
      ],
    },
  };
  return yamlDocument(object, remarksOf(each, cores));
}

/** Use of a container from which on the HPA adds replicas by itself. */
function safetyCores({ container }: SurveyedWorkload): number | undefined {
  const { limits, requests } = container?.resources ?? { limits: {}, requests: {} };
  const cores = limits.cpuCores === undefined ? requests.cpuCores : limits.cpuCores * LIMIT_SHARE;
  return cores === 0 ? undefined : cores;
}

function remarksOf({ autoscaler, container }: SurveyedWorkload, cores: number | undefined): Remark[] {
  const limited = container?.resources.limits.cpuCores !== undefined;
  const behavior = ["spec", "advanced", "horizontalPodAutoscalerConfig", "behavior"];
  return [
    { path: ["spec", "fallback"], above: "While Tradewind cannot say: never fewer than now." },
    { path: ["spec", "fallback", "replicas"], beside: "a size that carries a normal day" },
    {
      path: [...behavior, "scaleUp", "tolerance"],
      beside: "exactly the number recommended; KEDA 2.18, Kubernetes 1.35 or newer",
    },
    ...(autoscaler === undefined
      ? []
      : [
          {
            path: ["metadata", "annotations", "scaledobject.keda.sh/transfer-hpa-ownership"],
            beside: `takes over HPA '${autoscaler.name}'`,
          },
        ]),
    cores === undefined
      ? {
          path: ["spec", "triggers"],
          above:
            "No CPU request or limit is set: add a cpu trigger (metricType AverageValue) as a safety net once there is one.",
        }
      : {
          path: ["spec", "triggers", 1, "type"],
          above: `Safety net: the HPA reads it without KEDA or Tradewind. ${limited ? "80 % of the CPU limit" : "All of the CPU request: more is not promised"}.`,
        },
  ];
}
