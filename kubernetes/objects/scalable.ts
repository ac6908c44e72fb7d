import { z } from "zod";
import { GRPC_PROBE_PATH } from "@tradewind/core/contract/workload.ts";
import { ListOf } from "./bounded.ts";
import { parseSelector } from "./label-selector.ts";
import type { LabelSelector } from "./label-selector.ts";
import { Identity, StringMap } from "./metadata.ts";
import type { PlacedPod } from "./pod.ts";
import {
  cpuAndMemory,
  MOST_CONTAINERS,
  PlacedSpec,
  podRequests,
  RequestingContainer,
  rulesOf,
  SpecResources,
} from "./pod-spec.ts";

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

/** A longer value is taken as one that is not known. */
const MOST_VALUE_CHARACTERS = 4_096;
const FIELD = /^metadata\.(labels|annotations)\['([^']+)'\]$/;

/** A literal, or a label or annotation of the pod. */
function valueOf(
  { value, valueFrom }: z.infer<typeof DeclaredVariable>,
  pod: Readonly<Record<"labels" | "annotations", Readonly<Record<string, string>>>>,
): string | undefined {
  if (typeof value === "string" && value !== "")
    return value.length > MOST_VALUE_CHARACTERS || value.includes("$(") ? undefined : value;
  const path = valueFrom?.fieldRef?.fieldPath ?? "";
  const [, where, key] = (path.length > MOST_VALUE_CHARACTERS ? null : FIELD.exec(path)) ?? [];
  if (key === undefined) return undefined;
  return (where === "labels" ? pod.labels : pod.annotations)[key];
}

const TELEMETRY_VARIABLES: ReadonlySet<unknown> = new Set(["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES"]);
const MOST_TELEMETRY_VARIABLES = 16;

/** Of all variables those that are used, the others unread. */
const Environment = z
  .unknown()
  .nullish()
  .transform((all): unknown[] =>
    (Array.isArray(all) ? (all as unknown[]) : [])
      .filter((each) => TELEMETRY_VARIABLES.has((each as { name?: unknown } | null)?.name))
      .slice(0, MOST_TELEMETRY_VARIABLES),
  )
  .pipe(z.array(DeclaredVariable));

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
    const asked = probe.httpGet.path ?? "";
    if (asked.length > MOST_VALUE_CHARACTERS) return undefined;
    const [path = ""] = asked.split(/[?#]/, 1);
    const rooted = path.startsWith("/") ? path : `/${path}`;
    return rooted.length > MAX_PROBE_PATH ? undefined : rooted;
  });

/** What is not requested is requested as it is limited, as the API server defaults it once a pod is made. */
const Requested = SpecResources.transform(({ limits, requests }) => ({
  requests: { ...limits, ...requests },
  limits,
}));

const Template = z
  .object({
    metadata: z.object({ labels: StringMap, annotations: StringMap }).nullish(),
    spec: PlacedSpec.extend({
      resources: Requested,
      initContainers: ListOf(RequestingContainer.extend({ resources: Requested }), MOST_CONTAINERS),
      containers: ListOf(
        RequestingContainer.extend({
          resources: Requested,
          env: Environment,
          readinessProbe: Probe,
          livenessProbe: Probe,
          startupProbe: Probe,
        }),
        MOST_CONTAINERS,
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
  /** Revision of a StatefulSet's newest template, as its pods carry it. Those of a Deployment are its ReplicaSets'. */
  readonly updateRevision: string | undefined;
  /** The revision that most pods of a Rollout run while another one is tried (`stableRS`); absent while none is. */
  readonly stableRevision?: string;
  /** Which pods count among its replicas, as `/scale` says: of a Rollout those of the preview do not. Absent where all of its own do. */
  readonly podSelector?: LabelSelector;
  /** Group and version of a kind that was found by discovery. */
  readonly apiVersion?: string;
  /** A step of a Rollout weighs its canary by the number of its pods: with fewer pods in all it would get more of the requests. */
  readonly isCanary?: boolean;
  /** The Deployment whose template a Rollout's pods are made of, where it has none of its own (`workloadRef`). */
  readonly templateFrom?: string;
}

const NO_TEMPLATE: z.infer<typeof Template> = {
  labels: {},
  annotations: {},
  containers: [],
  placed: { requests: {}, rules: {} },
};

const MEANINGFUL = /^(tradewind\.dev|resource\.opentelemetry\.io)\//;
const meaningful = (annotations: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(annotations).filter(([name]) => MEANINGFUL.test(name)));

/** Of a Rollout: whether a service mesh or an ingress weighs its canary, or the number of its pods. */
const Strategy = z
  .object({ canary: z.object({ trafficRouting: z.unknown().optional() }).nullish() })
  .nullish()
  .catch(undefined);

interface RolloutStatus {
  readonly currentPodHash?: string | null | undefined;
  readonly stableRS?: string | null | undefined;
  readonly selector?: unknown;
}

/** What of a Rollout's pods counts, and what is tried beside the program that serves. */
function triedOf(
  strategy: z.infer<typeof Strategy>,
  status: RolloutStatus | null | undefined,
): Pick<Scalable, "isCanary" | "podSelector" | "stableRevision"> {
  const { currentPodHash, selector, stableRS } = status ?? {};
  const podSelector = typeof selector === "string" ? parseSelector(selector) : undefined;
  const isTried =
    stableRS !== undefined && stableRS !== null && stableRS !== "" && stableRS !== currentPodHash;
  const isCanary = isTried && Boolean(strategy?.canary) && !isGiven(strategy?.canary?.trafficRouting);
  return {
    ...(podSelector && { podSelector }),
    ...(isTried && { stableRevision: stableRS }),
    ...(isCanary && { isCanary }),
  };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** Kinds without a template of their own are refused. */
const TEMPLATED: ReadonlySet<string> = new Set(["Deployment", "StatefulSet"]);

/** The schema of a Deployment, a StatefulSet, or of another kind that is shaped like one, such as Argo's Rollout. */
export const scalable = (kind: string, apiVersion?: string) =>
  z
    .object({
      metadata: Identity.extend({ labels: StringMap, annotations: StringMap }),
      spec: z.object({
        // Of a kind that was found by discovery `/scale` says it.
        replicas:
          apiVersion === undefined
            ? z.number().int().min(0).nullish()
            : z.number().int().min(0).nullish().catch(undefined),
        template: TEMPLATED.has(kind) ? Template : Template.nullish().catch(undefined),
        strategy: Strategy,
        workloadRef: z.object({ kind: z.string().nullish(), name: z.string() }).nullish(),
      }),
      status: z
        .object({
          readyReplicas: z.number().int().min(0).nullish(),
          updateRevision: z.string().nullish(),
          currentPodHash: z.string().nullish(),
          stableRS: z.string().nullish(),
          selector: z.unknown().optional(),
        })
        .nullish(),
    })
    .transform(({ metadata, spec, status }): Scalable => {
      const template = spec.template ?? NO_TEMPLATE;
      const { kind: templateKind, name: templateName } = spec.workloadRef ?? {};
      const isOfDeployment = kind === "Rollout" && (templateKind ?? "Deployment") === "Deployment";
      const templateFrom = isOfDeployment ? templateName : undefined;
      return {
        kind,
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        labels: metadata.labels,
        annotations: { ...meaningful(template.annotations), ...meaningful(metadata.annotations) },
        podLabels: template.labels,
        containers: template.containers,
        placed: template.placed,
        replicasWanted: spec.replicas ?? 1,
        replicasReady: status?.readyReplicas ?? 0,
        updateRevision: status?.updateRevision ?? status?.currentPodHash ?? undefined,
        ...(kind === "Rollout" && triedOf(spec.strategy, status)),
        ...(apiVersion !== undefined && { apiVersion }),
        ...(templateFrom !== undefined && { templateFrom }),
      };
    });

/** What a Rollout says of itself and not of its template. */
const ownOf = ({
  isCanary,
  kind,
  labels,
  name,
  podSelector,
  replicasReady,
  replicasWanted,
  stableRevision,
  uid,
  updateRevision,
}: Scalable): Partial<Scalable> => ({
  ...(isCanary !== undefined && { isCanary }),
  ...(podSelector !== undefined && { podSelector }),
  ...(stableRevision !== undefined && { stableRevision }),
  kind,
  labels,
  name,
  replicasReady,
  replicasWanted,
  uid,
  updateRevision,
});

/**
 * Rollouts with the templates of the Deployments that they name. Such a Deployment runs no pods of its own once it is taken
 * over, so it is left out.
 */
export function withTemplates<Item extends Scalable>(all: readonly Item[]): Item[] {
  if (all.every(({ templateFrom }) => templateFrom === undefined)) return [...all];
  const placeOf = (namespace: string, name: string): string => `${namespace}/${name}`;
  const deployments = new Map(
    all.filter(({ kind }) => kind === "Deployment").map((each) => [placeOf(each.namespace, each.name), each]),
  );
  const named = new Set<Item>();
  const whole = all.map((each): Item => {
    const deployment = deployments.get(placeOf(each.namespace, each.templateFrom ?? ""));
    if (deployment === undefined) return each;
    named.add(deployment);
    const annotations = { ...deployment.annotations, ...each.annotations };
    return { ...deployment, ...ownOf(each), annotations };
  });
  return whole.filter((each) => !named.has(each) || each.replicasWanted > 0);
}
