import { z } from "zod";
import { Identity, StringMap } from "./metadata.ts";
import { Resources } from "./quantity.ts";

const EnvironmentVariable = z.object({
  name: z.string(),
  value: z.string().nullish(),
  valueFrom: z.object({ fieldRef: z.object({ fieldPath: z.string() }).nullish() }).nullish(),
});
export type EnvironmentVariable = z.infer<typeof EnvironmentVariable>;

const TELEMETRY_VARIABLES = new Set(["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"]);

const Template = z.object({
  metadata: z.object({ labels: StringMap, annotations: StringMap }).nullish(),
  spec: z.object({
    containers: z.array(
      z.object({
        name: z.string(),
        env: z
          .array(EnvironmentVariable)
          .nullish()
          .transform((all) => (all ?? []).filter(({ name }) => TELEMETRY_VARIABLES.has(name))),
        resources: z
          .object({ requests: Resources.nullish(), limits: Resources.nullish() })
          .nullish()
          .transform((lists) => ({ requests: lists?.requests ?? {}, limits: lists?.limits ?? {} })),
      }),
    ),
  }),
});

/** A container of a pod template. */
export type TemplateContainer = z.infer<typeof Template>["spec"]["containers"][number];

/** A Deployment or a StatefulSet, reduced to what is used of it. `kind` is not part of list items, so it is given. */
export interface Scalable {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Annotations of the workload over those of its pods, only those that say something to Tradewind or OpenTelemetry. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly podLabels: Readonly<Record<string, string>>;
  readonly containers: readonly TemplateContainer[];
  readonly replicasWanted: number;
  readonly replicasReady: number;
  /** Revision of a StatefulSet's newest template, as its pods carry it. Those of a Deployment are its ReplicaSets'. */
  readonly updateRevision: string | undefined;
}

const MEANINGFUL = /^(tradewind\.dev|resource\.opentelemetry\.io)\//;
const meaningful = (annotations: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => MEANINGFUL.test(name)));

/** The schema of a Deployment or StatefulSet. */
export const scalable = (kind: "Deployment" | "StatefulSet") =>
  z
    .object({
      metadata: Identity.extend({ labels: StringMap, annotations: StringMap }),
      spec: z.object({ replicas: z.number().int().min(0).nullish(), template: Template }),
      status: z
        .object({ readyReplicas: z.number().int().min(0).nullish(), updateRevision: z.string().nullish() })
        .nullish(),
    })
    .transform(({ metadata, spec, status }): Scalable => ({
      kind,
      namespace: metadata.namespace,
      name: metadata.name,
      uid: metadata.uid,
      labels: metadata.labels,
      annotations: {
        ...meaningful(spec.template.metadata?.annotations ?? {}),
        ...meaningful(metadata.annotations),
      },
      podLabels: spec.template.metadata?.labels ?? {},
      containers: spec.template.spec.containers,
      replicasWanted: spec.replicas ?? 1,
      replicasReady: status?.readyReplicas ?? 0,
      updateRevision: status?.updateRevision ?? undefined,
    }));
