import { z } from "zod";
import { GRPC_PROBE_PATH } from "@tradewind/core/contract/workload.ts";
import { Identity, StringMap } from "./metadata.ts";
import type { PlacedPod } from "./pod.ts";
import { cpuAndMemory, PlacedSpec, podRequests, RequestingContainer, rulesOf } from "./pod-spec.ts";

const DeclaredVariable = z.object({
  name: z.string(),
  value: z.string().nullish(),
  valueFrom: z.object({ fieldRef: z.object({ fieldPath: z.string() }).nullish() }).nullish(),
});

/** A variable of a container with its value, as far as the pod template says it. */
export interface EnvironmentVariable {
  readonly name: string;
  /** Absent where it is empty, refers to other variables, or comes from outside the template. */
  readonly value?: string;
}

const FIELD = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** A literal, or a label or annotation of the pod. */
function valueOf(
  { value, valueFrom }: z.infer<typeof DeclaredVariable>,
  pod: Readonly<Record<"labels" | "annotations", Readonly<Record<string, string>>>>,
): string | undefined {
  if (typeof value === "string" && value !== "") return value.includes("$(") ? undefined : value;
  const [, where, key] = FIELD.exec(valueFrom?.fieldRef?.fieldPath ?? "") ?? [];
  if (key === undefined) return undefined;
  return (where === "labels" ? pod.labels : pod.annotations)[key];
}

const TELEMETRY_VARIABLES = new Set(["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"]);

const MAX_PROBE_PATH = 500;

/** The path that a probe asks for, without what follows a `?`; undefined where it runs a command or opens a connection alone. */
const Probe = z
  .object({
    httpGet: z.object({ path: z.string().nullish() }).nullish(),
    grpc: z.object({}).nullish(),
  })
  .nullish()
  .transform((probe): string | undefined => {
    if (probe?.grpc) return GRPC_PROBE_PATH;
    if (!probe?.httpGet) return undefined;
    const [path = ""] = (probe.httpGet.path ?? "").split(/[?#]/, 1);
    const rooted = path.startsWith("/") ? path : `/${path}`;
    return rooted.length > MAX_PROBE_PATH ? undefined : rooted;
  });

const Template = z
  .object({
    metadata: z.object({ labels: StringMap, annotations: StringMap }).nullish(),
    spec: PlacedSpec.extend({
      containers: z.array(
        RequestingContainer.extend({
          env: z
            .array(DeclaredVariable)
            .nullish()
            .transform((all) => (all ?? []).filter(({ name }) => TELEMETRY_VARIABLES.has(name))),
          readinessProbe: Probe,
          livenessProbe: Probe,
          startupProbe: Probe,
        }),
      ),
    }),
  })
  .transform(({ metadata, spec }) => {
    const { annotations = {}, labels = {} } = metadata ?? {};
    return {
      labels,
      annotations,
      placed: { requests: podRequests(spec), rules: rulesOf(spec) },
      containers: spec.containers.map(
        ({ env, livenessProbe, name, readinessProbe, resources, startupProbe }) => ({
          name,
          resources: { requests: cpuAndMemory(resources.requests), limits: cpuAndMemory(resources.limits) },
          probePaths: [readinessProbe, livenessProbe, startupProbe].filter((path) => path !== undefined),
          env: env.map((each): EnvironmentVariable => {
            const value = valueOf(each, { labels, annotations });
            return { name: each.name, ...(value !== undefined && { value }) };
          }),
        }),
      ),
    };
  });

/** A container of a pod template. */
export type TemplateContainer = z.infer<typeof Template>["containers"][number];

/** A Deployment, a StatefulSet or a Rollout, reduced to what is used of it. `kind` is not part of list items, so it is given. */
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
  /** What its template takes of a node and asks of it. */
  readonly placed: Pick<PlacedPod, "requests" | "rules">;
  readonly replicasWanted: number;
  readonly replicasReady: number;
  /** Revision of a StatefulSet's or Rollout's newest template, as its pods carry it. Those of a Deployment are its ReplicaSets'. */
  readonly updateRevision: string | undefined;
}

const MEANINGFUL = /^(tradewind\.dev|resource\.opentelemetry\.io)\//;
const meaningful = (annotations: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => MEANINGFUL.test(name)));

interface ScalableStatus {
  readonly readyReplicas?: number | null | undefined;
  /** Newest template of a StatefulSet. */
  readonly updateRevision?: string | null | undefined;
  /** Newest template of a Rollout. */
  readonly currentPodHash?: string | null | undefined;
}

const Metadata = Identity.extend({ labels: StringMap, annotations: StringMap });
const Replicas = z.number().int().min(0).nullish();
const Status = z
  .object({
    readyReplicas: Replicas,
    updateRevision: z.string().nullish(),
    currentPodHash: z.string().nullish(),
  })
  .nullish();

/** The schema of a Deployment or StatefulSet. */
export const scalable = (kind: "Deployment" | "StatefulSet") =>
  z
    .object({
      metadata: Metadata,
      spec: z.object({ replicas: Replicas, template: Template }),
      status: Status,
    })
    .transform(({ metadata, spec, status }) => scalableOf(kind, metadata, { ...spec, status }));

function scalableOf(
  kind: string,
  metadata: z.infer<typeof Metadata>,
  {
    replicas,
    status,
    template,
  }: {
    readonly replicas?: number | null | undefined;
    readonly template: z.infer<typeof Template>;
    readonly status: ScalableStatus | null | undefined;
  },
): Scalable {
  return {
    kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    labels: metadata.labels,
    annotations: {
      ...meaningful(template.annotations),
      ...meaningful(metadata.annotations),
    },
    podLabels: template.labels,
    containers: template.containers,
    placed: template.placed,
    replicasWanted: replicas ?? 1,
    replicasReady: status?.readyReplicas ?? 0,
    updateRevision: status?.updateRevision ?? status?.currentPodHash ?? undefined,
  };
}

/** An Argo Rollout: its pods' template is its own, or that of a Deployment that it took the place of. */
export interface Rollout {
  readonly of: Scalable;
  /** Name of the Deployment that has the template. */
  readonly templateOf: string | undefined;
}

const NO_TEMPLATE: z.infer<typeof Template> = {
  labels: {},
  annotations: {},
  containers: [],
  placed: { requests: {}, rules: {} },
};

export const Rollout = z
  .object({
    metadata: Metadata,
    spec: z.object({
      replicas: Replicas,
      template: Template.nullish(),
      workloadRef: z.object({ kind: z.string(), name: z.string() }).nullish(),
    }),
    status: Status,
  })
  .transform(({ metadata, spec, status }): Rollout => {
    const template = spec.template ?? NO_TEMPLATE;
    const { kind, name } = spec.workloadRef ?? {};
    return {
      of: scalableOf("Rollout", metadata, { ...spec, template, status }),
      templateOf: kind === "Deployment" ? name : undefined,
    };
  });

/**
 * Workloads with Rollouts. A Deployment that a Rollout took the place of is not among them: it keeps its template and has no pods that
 * anybody should count.
 */
export function withRollouts(scalables: readonly Scalable[], rollouts: readonly Rollout[]): Scalable[] {
  if (rollouts.length === 0) return [...scalables];
  const keyOf = (namespace: string, name: string): string => `${namespace}/${name}`;
  const deployments = new Map(
    scalables.flatMap((each) =>
      each.kind === "Deployment" ? [[keyOf(each.namespace, each.name), each] as const] : [],
    ),
  );
  const replaced = new Set<Scalable>();
  const own = rollouts.map(({ of, templateOf }): Scalable => {
    const deployment =
      templateOf === undefined ? undefined : deployments.get(keyOf(of.namespace, templateOf));
    if (deployment === undefined) return of;
    replaced.add(deployment);
    const { annotations, containers, placed, podLabels } = deployment;
    return { ...of, annotations: { ...annotations, ...of.annotations }, containers, placed, podLabels };
  });
  return [...scalables.filter((each) => !replaced.has(each)), ...own];
}
