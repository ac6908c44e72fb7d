import { z } from "zod";
import { Controller, Identity, StringMap } from "../objects/metadata.ts";
import type { Owner } from "../objects/metadata.ts";
import { HorizontalPodAutoscaler, ScaledObject } from "../objects/autoscaler.ts";
import type { ScaledObject as ScaledObjectFacts } from "../objects/autoscaler.ts";
import { cpuAndMemory, SpecResources } from "../objects/pod-spec.ts";
import type { Resources } from "../objects/quantity.ts";
import { scalable } from "../objects/scalable.ts";
import type { Scalable } from "../objects/scalable.ts";
import { VerticalPodAutoscaler } from "../objects/vpa.ts";
import { routeOf } from "./routes.ts";
import type { Route } from "./routes.ts";
import { latencySlosIn } from "./slo.ts";
import type { LatencySlo } from "./slo.ts";

const list = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? []);
const Text = z.string().nullish();

const Volume = z
  .looseObject({
    name: z.string(),
    persistentVolumeClaim: z.object({ claimName: z.string(), readOnly: z.boolean().nullish() }).nullish(),
    hostPath: z.object({ path: z.string() }).nullish(),
  })
  .transform(({ hostPath, name, persistentVolumeClaim, ...sources }) => ({
    name,
    claim: persistentVolumeClaim?.readOnly === true ? undefined : persistentVolumeClaim?.claimName,
    hostPath: hostPath?.path,
    /** `emptyDir`, `configMap`, and so on. */
    source:
      (persistentVolumeClaim && "persistentVolumeClaim") ??
      (hostPath && "hostPath") ??
      Object.keys(sources)[0] ??
      "emptyDir",
  }));
export type Volume = z.infer<typeof Volume>;

const Probe = z.object({ httpGet: z.unknown(), grpc: z.unknown() }).partial().nullish();

const Container = z
  .object({
    name: z.string(),
    image: Text,
    command: list(z.string()),
    args: list(z.string()),
    env: list(z.object({ name: z.string(), value: Text })),
    ports: list(
      z.object({ containerPort: z.number().nullish(), hostPort: z.number().nullish(), name: Text }),
    ),
    volumeMounts: list(
      z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().nullish() }),
    ),
    volumeDevices: list(z.object({ name: z.string(), devicePath: z.string() })),
    readinessProbe: Probe,
    livenessProbe: Probe,
    startupProbe: Probe,
  })
  .transform(
    ({ image, livenessProbe, readinessProbe, startupProbe, volumeDevices, volumeMounts, ...rest }) => ({
      ...rest,
      volumeMounts: [
        ...volumeMounts,
        ...volumeDevices.map(({ devicePath, name }) => ({ name, mountPath: devicePath, readOnly: false })),
      ],
      image: image ?? "",
      /** A probe asks it over HTTP or gRPC. */
      answersProbes: [readinessProbe, livenessProbe, startupProbe].some(
        (probe) => (probe?.httpGet ?? probe?.grpc ?? undefined) !== undefined,
      ),
    }),
  );
export type FoundContainer = z.infer<typeof Container>;

const Controlled = z.object({ metadata: z.object({ ownerReferences: Controller }) });

/** What only `init` needs to know of a workload: whether several of it can share the work. */
const Nature = Controlled.extend({
  spec: z.object({
    strategy: z.object({ type: Text }).nullish(),
    volumeClaimTemplates: list(z.unknown()),
    template: z
      .object({
        metadata: z.object({ annotations: StringMap }).nullish(),
        spec: z.object({ containers: z.array(Container), volumes: list(Volume), resources: SpecResources }),
      })
      .nullish(),
  }),
});

const Service = z
  .object({
    metadata: Identity,
    spec: z
      .object({
        type: Text,
        clusterIP: Text,
        selector: StringMap,
        externalIPs: list(z.string()),
        ports: list(
          z.object({
            name: Text,
            port: z.number(),
            targetPort: z.union([z.number(), z.string()]).nullish(),
          }),
        ),
      })
      .nullish(),
  })
  .transform(({ metadata: { name, namespace }, spec }) => ({
    name,
    namespace,
    type: (spec?.externalIPs ?? []).length > 0 ? "external IP" : (spec?.type ?? "ClusterIP"),
    isHeadless: spec?.clusterIP === "None",
    selector: spec?.selector ?? {},
    ports: (spec?.ports ?? []).map(({ name: portName, port, targetPort }) => ({
      name: portName ?? "",
      port,
      target: targetPort ?? port,
      /** Its container's name for it. */
      targetName: typeof targetPort === "string" ? targetPort : "",
    })),
  }));
export type FoundService = z.infer<typeof Service>;

/** A workload with what tells whether it can be scaled out. */
export interface FoundWorkload extends Scalable {
  readonly templates: readonly FoundContainer[];
  readonly volumes: readonly Volume[];
  /** Each of its pods has a volume of its own. */
  readonly ownVolumes: boolean;
  readonly isRecreated: boolean;
  /** All annotations of its pods. */
  readonly podAnnotations: Readonly<Record<string, string>>;
  /** Requests that its pods state for all their containers together. */
  readonly ofAllContainers: Resources;
  /** What made it and sets it back: an operator's resource, a Knative revision. */
  readonly owner: Owner | undefined;
}

const HpaDetails = z.object({
  spec: z.looseObject({
    metrics: list(z.looseObject({ type: Text })),
    behavior: z.record(z.string(), z.unknown()).nullish(),
    targetCPUUtilizationPercentage: z.number().nullish(),
  }),
});

/** An HPA with what is lost or carried over where KEDA takes it over. */
export interface FoundAutoscaler extends HorizontalPodAutoscaler {
  readonly behavior: Readonly<Record<string, unknown>> | undefined;
  /** What it scales by, in words: `cpu`, `external metric queue_length`. */
  readonly measures: readonly string[];
  readonly types: readonly string[];
  /** Target of CPU use, percent of the request; undefined where it scales by something else alone. */
  readonly cpuPercent: number | undefined;
  /** As it is written, for whoever wants it back. */
  readonly spec: Readonly<Record<string, unknown>>;
}

/** A kind that runs pods and is not read, with its pods' labels. */
export interface PassedOver {
  readonly kind: string;
  readonly name: string;
  readonly podLabels: Readonly<Record<string, string>>;
}

const PodRunner = z.object({
  metadata: Identity,
  spec: z.object({
    template: z.object({
      metadata: z.object({ labels: StringMap }).nullish(),
      spec: z.object({ containers: z.array(z.unknown()) }),
    }),
  }),
});

const BarePod = z.object({
  metadata: Identity.extend({ labels: StringMap, annotations: StringMap, ownerReferences: Controller }),
  spec: z.object({ restartPolicy: Text, containers: z.array(z.unknown()) }),
});

const Claim = z.object({ metadata: Identity, spec: z.object({ accessModes: list(z.string()) }) });

/** Flagger makes the Services of what a Canary names. */
const Canary = z.object({ spec: z.object({ targetRef: z.object({ kind: z.string(), name: z.string() }) }) });

/** Everything that `init` looks at. */
export interface Found {
  readonly workloads: FoundWorkload[];
  readonly services: FoundService[];
  readonly routes: Route[];
  readonly autoscalers: FoundAutoscaler[];
  readonly scaledObjects: ScaledObjectFacts[];
  readonly vpas: VerticalPodAutoscaler[];
  /** Access modes of the claims, by name. */
  readonly claims: Map<string, readonly string[]>;
  /** `Deployment/podinfo`: what Flagger makes Services for. */
  readonly canaries: Set<string>;
  readonly passedOver: PassedOver[];
  /** Names of workloads whose manifests cannot be read. */
  readonly unread: string[];
  /** Latency objectives of OpenSLO, Sloth and Pyrra. */
  readonly slos: LatencySlo[];
}

export const nothingFound = (): Found => ({
  workloads: [],
  services: [],
  routes: [],
  autoscalers: [],
  scaledObjects: [],
  vpas: [],
  claims: new Map(),
  canaries: new Set(),
  passedOver: [],
  unread: [],
  slos: [],
});

/** Jobs end by themselves, DaemonSets follow the nodes, and neither is scaled. */
const NEVER_SCALED = new Set(["Job", "CronJob", "DaemonSet", "Workflow", "PodTemplate"]);

/** Kinds of others that run pods of one template and that `/scale` changes, with their groups. */
const OF_OTHERS: ReadonlyMap<string, string> = new Map([
  ["CloneSet", "apps.kruise.io"],
  ["DeploymentConfig", "apps.openshift.io"],
]);

/** Whether it is one of the workloads that are read. @param apiVersion group and version */
export const isWorkloadKind = (kind: string, apiVersion: string): boolean =>
  ["Deployment", "StatefulSet", "Rollout"].includes(kind) || ofOthers(kind, apiVersion) !== undefined;

/** Group and version of one of those kinds; OpenShift still takes its own as `v1`, without a group. */
function ofOthers(kind: string, apiVersion: string): string | undefined {
  const group = OF_OTHERS.get(kind);
  if (group === undefined) return undefined;
  if (apiVersion === "v1" && kind === "DeploymentConfig") return `${group}/v1`;
  return apiVersion.startsWith(`${group}/`) ? apiVersion : undefined;
}

/** Takes up one object of any kind; kinds that are of no use here are passed over. @throws z.ZodError */
export function take(found: Found, kind: string, object: unknown): void {
  const apiVersion = ofOthers(kind, apiVersionIn(object));
  if (apiVersion !== undefined) {
    found.workloads.push(workloadOf(kind, object, apiVersion));
    return;
  }
  switch (kind) {
    case "Deployment":
    case "StatefulSet":
    case "Rollout":
      found.workloads.push(workloadOf(kind, object));
      break;
    case "Pod":
      takePod(found, object);
      break;
    case "Service":
      if (isKnative(object)) takeOther(found, kind, object);
      else found.services.push(Service.parse(object));
      break;
    case "HorizontalPodAutoscaler":
      found.autoscalers.push(autoscalerOf(object));
      break;
    case "ScaledObject":
      found.scaledObjects.push(ScaledObject.parse(object));
      break;
    case "VerticalPodAutoscaler":
      found.vpas.push(VerticalPodAutoscaler.parse(object));
      break;
    case "PersistentVolumeClaim": {
      const { metadata, spec } = Claim.parse(object);
      found.claims.set(metadata.name, spec.accessModes);
      break;
    }
    case "Canary": {
      const { kind: targetKind, name } = Canary.parse(object).spec.targetRef;
      found.canaries.add(`${targetKind}/${name}`);
      break;
    }
    case "PrometheusServiceLevel":
    case "ServiceLevelObjective":
    case "SLO":
      // Items of a list do not say their kind.
      found.slos.push(...latencySlosIn({ ...(object as object), kind }));
      break;
    default:
      takeOther(found, kind, object);
  }
}

function workloadOf(kind: string, object: unknown, apiVersion?: string): FoundWorkload {
  const {
    metadata: { ownerReferences: owner },
    spec,
  } = Nature.parse(object);
  const { metadata, spec: pod } = spec.template ?? {};
  return {
    owner,
    ...scalable(kind, apiVersion).parse(object),
    templates: pod?.containers ?? [],
    volumes: pod?.volumes ?? [],
    ownVolumes: spec.volumeClaimTemplates.length > 0,
    isRecreated: spec.strategy?.type === "Recreate",
    podAnnotations: metadata?.annotations ?? {},
    ofAllContainers: cpuAndMemory(pod?.resources.requests ?? {}),
  };
}

function autoscalerOf(object: unknown): FoundAutoscaler {
  const { spec } = HpaDetails.parse(object);
  const { behavior, metrics, targetCPUUtilizationPercentage } = spec;
  return {
    ...HorizontalPodAutoscaler.parse(object),
    spec,
    behavior: behavior ?? undefined,
    cpuPercent: cpuPercentOf(metrics, targetCPUUtilizationPercentage),
    types: metrics.map(({ type }) => type ?? ""),
    measures:
      metrics.length === 0
        ? [`cpu ${targetCPUUtilizationPercentage ?? DEFAULT_CPU_PERCENT} % of the request`]
        : metrics.map((metric) => inWords(metric)),
  };
}

const DEFAULT_CPU_PERCENT = 80;

function cpuPercentOf(
  metrics: readonly Readonly<Record<string, unknown>>[],
  old: number | null | undefined,
): number | undefined {
  if (metrics.length === 0) return old ?? DEFAULT_CPU_PERCENT;
  const targets = metrics.flatMap((metric) => {
    const { data } = Source.safeParse(metric["resource"] ?? metric["containerResource"]);
    return data?.name === "cpu" ? (data.target?.averageUtilization ?? []) : [];
  });
  return targets[0];
}

const Source = z.looseObject({
  name: Text,
  metric: z.object({ name: z.string() }).nullish(),
  metricName: Text,
  target: z
    .object({
      averageUtilization: z.number().nullish(),
      averageValue: z.union([z.string(), z.number()]).nullish(),
      value: z.union([z.string(), z.number()]).nullish(),
    })
    .nullish(),
});

/** `cpu 60 % of the request`, `external metric queue_length at 30 a pod`. */
function inWords(metric: Readonly<Record<string, unknown>>): string {
  const type = typeof metric["type"] === "string" ? metric["type"] : "";
  const key = `${type.slice(0, 1).toLowerCase()}${type.slice(1)}`;
  const source = Source.safeParse(metric[key]).data;
  const name = source?.metric?.name ?? source?.metricName ?? source?.name ?? "";
  const { averageUtilization, averageValue, value } = source?.target ?? {};
  const goal =
    typeof averageUtilization === "number"
      ? ` ${averageUtilization} % of the request`
      : (averageValue ?? value ?? undefined) === undefined
        ? ""
        : ` at ${averageValue ?? value}${averageValue === null || averageValue === undefined ? "" : " a pod"}`;
  return `${key === "resource" || key === "containerResource" ? "" : `${key} metric `}${name}${goal}`;
}

/** Group and version of an object; nothing where it does not say them, as in a list. */
function apiVersionIn(object: unknown): string {
  const { apiVersion } = object as { readonly apiVersion?: unknown };
  return typeof apiVersion === "string" ? apiVersion : "";
}

/** A Pod that somebody wrote: no number of it is kept, so it is not scaled. Tests of a chart and what ends by itself are left unsaid. */
function takePod(found: Found, object: unknown): void {
  const { metadata, spec } = BarePod.parse(object);
  const { annotations, labels, name, ownerReferences } = metadata;
  const endsByItself =
    (spec.restartPolicy ?? "Always") !== "Always" || annotations["helm.sh/hook"] !== undefined;
  if (ownerReferences !== undefined || endsByItself) return;
  found.passedOver.push({ kind: "Pod", name, podLabels: labels });
}

const isKnative = (object: unknown): boolean => apiVersionIn(object).startsWith("serving.knative.dev/");

function takeOther(found: Found, kind: string, object: unknown): void {
  const route = routeOf(kind, object);
  if (route !== undefined) found.routes.push(route);
  // What another object has made is that one's affair: a Deployment's ReplicaSets.
  else if (
    !NEVER_SCALED.has(kind) &&
    Controlled.safeParse(object).data?.metadata.ownerReferences === undefined
  ) {
    const runner = PodRunner.safeParse(object).data;
    if (runner === undefined) return;
    const { metadata, spec } = runner;
    found.passedOver.push({
      kind: isKnative(object) ? "Knative Service" : kind,
      name: metadata.name,
      podLabels: spec.template.metadata?.labels ?? {},
    });
  }
}
