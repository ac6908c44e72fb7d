import { FormerBehavior } from "@tradewind/core/contract/former-hpa.ts";
import { apiVersionOf, RESOURCES } from "../client/resources.ts";
import { yamlDocument } from "./document.ts";
import type { Remark } from "./document.ts";
import type { SurveyedWorkload } from "./survey.ts";

export interface ApplicationFacts {
  readonly name: string;
  readonly namespace: string;
  readonly entry: SurveyedWorkload;
  /** Why this one; empty when it was named. */
  readonly why: string;
  readonly milliseconds: number;
  /** Share of requests that must be faster; undefined for the default, 0.95. */
  readonly percentile?: number | undefined;
  /** False when nobody said what the objective is. */
  readonly objectiveGiven: boolean;
  /** Sizes of running pods move, too. */
  readonly resize: boolean;
  readonly workloads: readonly SurveyedWorkload[];
}

/** Replicas a service keeps and may have, and the object that says so; without one they follow from what it runs. */
export function replicaBounds({ autoscaler, scaledObject, versionOf, workload }: SurveyedWorkload): {
  min: number;
  max: number;
  from?: string;
} {
  if (versionOf !== undefined) {
    const replicas = Math.max(1, workload.replicasWanted);
    return { min: replicas, max: replicas };
  }
  const scaler = autoscaler ?? scaledObject;
  if (scaler !== undefined) {
    const kind = autoscaler === undefined ? "ScaledObject" : "HPA";
    return {
      min: Math.max(1, scaler.minReplicas),
      max: Math.max(1, scaler.minReplicas, scaler.maxReplicas),
      from: `${kind} '${scaler.name}'`,
    };
  }
  const { replicasWanted } = workload;
  return { min: Math.min(2, Math.max(1, replicasWanted)), max: Math.max(10, 4 * replicasWanted) };
}

/** The Application of a namespace's services. */
export function applicationYaml(facts: ApplicationFacts): string {
  const { applications } = RESOURCES;
  const object = {
    apiVersion: apiVersionOf(applications),
    kind: applications.kind,
    metadata: { name: facts.name, namespace: facts.namespace },
    spec: {
      entry: facts.entry.service,
      objective: {
        ...(facts.percentile !== undefined && { percentile: facts.percentile }),
        milliseconds: facts.milliseconds,
      },
      mode: "recommend",
      ...(facts.resize && { resize: "limits" }),
      services: facts.workloads.map((each) => serviceOf(each)),
    },
  };
  const share = +(100 * (facts.percentile ?? 0.95)).toPrecision(6);
  const remarks: Remark[] = [
    ...(facts.why === "" ? [] : [{ path: ["spec", "entry"], beside: facts.why }]),
    {
      path: ["spec", "objective", "milliseconds"],
      beside: `${share} of 100 requests must be faster${facts.objectiveGiven ? "" : ": set your own"}`,
    },
    {
      path: ["spec", "mode"],
      beside: "before this is act, KEDA gets the current replica count, and nothing scales",
    },
    ...(facts.resize
      ? [{ path: ["spec", "resize"], beside: "then sizes of running pods move, too; off keeps them" }]
      : []),
    ...facts.workloads.flatMap((each, index): Remark[] => {
      const { nameSource, versionOf } = each;
      const { from } = replicaBounds(each);
      return [
        ...(from === undefined
          ? []
          : [{ path: ["spec", "services", index, "maxReplicas"], beside: `as in ${from}` }]),
        ...(versionOf === undefined
          ? []
          : [
              {
                path: ["spec", "services", index, "name"],
                beside: `another version of '${versionOf}', whose name its spans have: it keeps its pods`,
              },
            ]),
        ...(nameSource === "workload" || nameSource === "label"
          ? []
          : [{ path: ["spec", "services", index, "name"], beside: `from ${nameSource}` }]),
      ];
    }),
  ];
  return yamlDocument(object, remarks);
}

function serviceOf(each: SurveyedWorkload): Record<string, unknown> {
  const { service, workload } = each;
  const { apiVersion, kind, name } = workload;
  const { max, min } = replicaBounds(each);
  const isDefault = kind === "Deployment" && name === service;
  return {
    name: service,
    ...(isDefault ? {} : { workload: { ...(apiVersion !== undefined && { apiVersion }), kind, name } }),
    minReplicas: min,
    maxReplicas: max,
    ...formerHpa(each),
  };
}

/** The HPA that reports compare with, where it scales by CPU. */
function formerHpa({ autoscaler }: SurveyedWorkload): object {
  if (autoscaler?.cpuPercent === undefined) return {};
  const behavior = FormerBehavior.safeParse(autoscaler.behavior).data;
  return { hpa: { cpuPercent: autoscaler.cpuPercent, ...(behavior && { behavior }) } };
}
