import { apiVersionOf, apiVersionOfScalable, RESOURCES } from "../client/resources.ts";
import { formatCores, formatMemory } from "@tradewind/core/values/amounts.ts";
import type { Resources } from "../objects/quantity.ts";
import { yamlDocument } from "./document.ts";
import type { Remark } from "./document.ts";
import type { SurveyedWorkload } from "./survey.ts";

/** A container may become this many times smaller or larger than its request says now. */
const ROOM = 4;
const LEAST: Required<Resources> = { cpuCores: 0.05, memoryBytes: 64 * 2 ** 20 };

/** A VPA that asks for the recommender `tradewind`, and shows its recommendation before anything is applied. */
export function vpaYaml({ container, scaledObject, workload }: SurveyedWorkload): string {
  const { verticalPodAutoscalers } = RESOURCES;
  const { limits, requests } = container?.resources ?? { limits: {}, requests: {} };
  const isGuaranteed =
    requests.cpuCores !== undefined &&
    requests.memoryBytes !== undefined &&
    requests.cpuCores === limits.cpuCores &&
    requests.memoryBytes === limits.memoryBytes;
  const object = {
    apiVersion: apiVersionOf(verticalPodAutoscalers),
    kind: verticalPodAutoscalers.kind,
    metadata: { name: workload.name, namespace: workload.namespace },
    spec: {
      targetRef: {
        apiVersion: apiVersionOfScalable(workload),
        kind: workload.kind,
        name: workload.name,
      },
      recommenders: [{ name: "tradewind" }],
      updatePolicy: { updateMode: "Off" },
      resourcePolicy: {
        containerPolicies: [
          {
            containerName: container?.name ?? "*",
            controlledValues: isGuaranteed ? "RequestsAndLimits" : "RequestsOnly",
            minAllowed: list({
              cpuCores: Math.max(LEAST.cpuCores, (requests.cpuCores ?? LEAST.cpuCores) / ROOM),
              memoryBytes: Math.max(LEAST.memoryBytes, (requests.memoryBytes ?? LEAST.memoryBytes) / ROOM),
            }),
            ...maxAllowed(requests),
          },
          ...(workload.containers.length > 1 ? [{ containerName: "*", mode: "Off" }] : []),
        ],
      },
    },
  };
  const policy = ["spec", "resourcePolicy", "containerPolicies", 0];
  const remarks: Remark[] = [
    {
      path: ["spec", "updatePolicy", "updateMode"],
      beside: "shows the recommendation; InPlaceOrRecreate applies it (Kubernetes 1.33 or newer)",
    },
    {
      path: [...policy, "controlledValues"],
      beside: isGuaranteed
        ? "requests equal limits: both move, and the pods stay Guaranteed"
        : "limits stay as they are",
    },
    ...(scaledObject !== undefined && scaledObject.utilisationOf.length > 0
      ? [
          {
            path: ["spec", "resourcePolicy"],
            above: `ScaledObject '${scaledObject.name}' scales on use relative to the request of ${scaledObject.utilisationOf.join(" and ")}: that request is left alone.`,
          },
        ]
      : []),
  ];
  return yamlDocument(object, remarks);
}

function maxAllowed({ cpuCores, memoryBytes }: Resources): { maxAllowed?: Record<string, string> } {
  if (cpuCores === undefined && memoryBytes === undefined) return {};
  return {
    maxAllowed: list({
      ...(cpuCores !== undefined && { cpuCores: cpuCores * ROOM }),
      ...(memoryBytes !== undefined && { memoryBytes: memoryBytes * ROOM }),
    }),
  };
}

function list({ cpuCores, memoryBytes }: Resources): Record<string, string> {
  return {
    ...(cpuCores !== undefined && { cpu: formatCores(cpuCores) }),
    ...(memoryBytes !== undefined && { memory: formatMemory(memoryBytes) }),
  };
}
