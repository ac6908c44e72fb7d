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
  /** False when nobody said what the objective is. */
  readonly objectiveGiven: boolean;
  readonly workloads: readonly SurveyedWorkload[];
}

/** Replicas a service keeps and may have, from its autoscaler or from what it runs. */
export function replicaBounds({ autoscaler, workload }: SurveyedWorkload): {
  min: number;
  max: number;
  known: boolean;
} {
  if (autoscaler !== undefined) {
    return { min: Math.max(1, autoscaler.minReplicas), max: autoscaler.maxReplicas, known: true };
  }
  const { replicasWanted } = workload;
  return {
    min: Math.min(2, Math.max(1, replicasWanted)),
    max: Math.max(10, 4 * replicasWanted),
    known: false,
  };
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
      objective: { milliseconds: facts.milliseconds },
      mode: "recommend",
      services: facts.workloads.map((each) => serviceOf(each)),
    },
  };
  const remarks: Remark[] = [
    ...(facts.why === "" ? [] : [{ path: ["spec", "entry"], beside: facts.why }]),
    {
      path: ["spec", "objective", "milliseconds"],
      beside: facts.objectiveGiven
        ? "95 of 100 requests must be faster"
        : "95 of 100 requests must be faster: set your own",
    },
    {
      path: ["spec", "mode"],
      beside: "ScaledObjects scale as soon as they are applied; act also resizes running pods",
    },
    ...facts.workloads.flatMap((each, index): Remark[] => {
      const { autoscaler, nameSource } = each;
      return [
        ...(autoscaler === undefined
          ? []
          : [{ path: ["spec", "services", index, "maxReplicas"], beside: `as in HPA '${autoscaler.name}'` }]),
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
  const { max, min } = replicaBounds(each);
  const isDefault = workload.kind === "Deployment" && workload.name === service;
  return {
    name: service,
    ...(isDefault ? {} : { workload: { kind: workload.kind, name: workload.name } }),
    minReplicas: min,
    maxReplicas: max,
  };
}
