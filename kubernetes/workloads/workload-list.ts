import { fairlyCut } from "@tradewind/core/net/fair-share.ts";
import type { NodeGroup } from "@tradewind/core/contract/placing.ts";
import { MOST_ANNOTATED, WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type {
  ContainerLimits,
  Workload,
  WorkloadList,
  WorkloadPod,
} from "@tradewind/core/contract/workload.ts";
import type { Autoscaler, HorizontalPodAutoscaler, ScaledObject } from "../objects/autoscaler.ts";
import type { Node, ResourceQuota } from "../objects/capacity.ts";
import type { PodDisruptionBudget } from "../objects/disruption-budget.ts";
import { selects } from "../objects/label-selector.ts";
import { ANNOTATIONS } from "../objects/metadata.ts";
import type { Owned } from "../objects/metadata.ts";
import type { PlacedPod, Pod, PodContainer } from "../objects/pod.ts";
import type { Resources } from "../objects/quantity.ts";
import type { Scalable } from "../objects/scalable.ts";
import { mainContainer } from "./main-container.ts";
import { podsByWorkload } from "./ownership.ts";
import { Neighbours, onNodes, placedNodes } from "./placing.ts";
import { recommendationTriggers, targetKey } from "./recommendation-triggers.ts";
import { newestRevisions } from "./revisions.ts";
import { serviceNames } from "./service-name.ts";
import type { ConfiguredName } from "./service-name.ts";

/** What is known of a cluster; `undefined` where it may not be read. */
export interface ClusterObjects {
  readonly scalables: readonly Scalable[];
  readonly replicaSets: readonly Owned[];
  readonly pods: readonly Pod[];
  readonly horizontalPodAutoscalers: readonly HorizontalPodAutoscaler[] | undefined;
  readonly scaledObjects: readonly ScaledObject[];
  readonly quotas: readonly ResourceQuota[] | undefined;
  readonly budgets: readonly PodDisruptionBudget[] | undefined;
  readonly limitRanges?: readonly ContainerLimits[];
  readonly nodes: readonly Node[] | undefined;
  /** Of all namespaces. */
  readonly boundPods?: readonly PlacedPod[] | undefined;
  readonly nodeGroups?: readonly NodeGroup[];
}

const MAX_PODS = 5_000;
const MAX_CONTAINERS = 64;
const MAX_PROBE_PATHS = 64;
const MAX_WORKLOADS = 10_000;

/** The cluster as every workload source describes it, sorted by namespace, kind and name. */
export function workloadList(
  objects: ClusterObjects,
  configured: ConfiguredName,
  nowMs: number,
): WorkloadList {
  const { budgets = [], limitRanges = [], nodeGroups = [], nodes, quotas, scalables } = objects;
  const names = serviceNames(scalables, configured);
  const pods = podsByWorkload(objects.pods, objects.replicaSets, scalables);
  const autoscalers = autoscalerByTarget(objects);
  const revisions = newestRevisions(scalables, objects.replicaSets);
  const bound = objects.boundPods && onNodes(objects.boundPods);
  const neighbours = new Neighbours(bound ?? onNodes(objects.pods));
  const sorted = scalables
    .map((each) => ({ each, place: `${each.namespace}/${each.kind}/${each.name}` }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ each }) => each);
  const workloads = fairlyCut(sorted, ({ namespace }) => namespace, MAX_WORKLOADS).map((each) =>
    workload(each, {
      service: names.get(each.uid)?.service ?? each.name,
      pods: pods.get(each.uid) ?? [],
      autoscaler: autoscalers.get(targetKey({ ...each, target: each })),
      revision: revisions.get(each.uid),
      neighbours,
      budgets: budgets.filter(({ namespace }) => namespace === each.namespace),
    }),
  );
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: nowMs,
    workloads,
    ...(nodes !== undefined && {
      nodes: placedNodes(
        nodes,
        bound ?? onNodes(objects.pods),
        bound !== undefined,
        workloads.flatMap(({ placing }) => placing ?? []),
      ),
    }),
    ...(quotas !== undefined && {
      quotas: quotas
        .filter(({ isScoped }) => !isScoped)
        .map(({ namespace, name, hard, used }) => ({ namespace, name, hard, used })),
    }),
    ...(limitRanges.length > 0 && { containerLimits: limitRanges.slice(0, MAX_WORKLOADS) }),
    ...(nodeGroups.length > 0 && { nodeGroups: nodeGroups.slice(0, MAX_WORKLOADS) }),
  };
}

/** How each workload is scaled, of several by one name each. */
export function scalingsOf(
  objects: Pick<ClusterObjects, "horizontalPodAutoscalers" | "scalables" | "scaledObjects">,
  configured: ConfiguredName,
): Pick<
  Workload,
  "maxReplicas" | "minReplicas" | "namespace" | "replicasWanted" | "scalingPaused" | "service"
>[] {
  const names = serviceNames(objects.scalables, configured);
  const autoscalers = autoscalerByTarget(objects);
  return objects.scalables.map((each) => ({
    namespace: each.namespace,
    service: names.get(each.uid)?.service ?? each.name,
    replicasWanted: each.replicasWanted,
    ...boundsOf(each, autoscalers.get(targetKey({ ...each, target: each }))),
  }));
}

interface InCharge extends Autoscaler {
  readonly multiplies?: boolean;
}

/** A ScaledObject goes before the HPA it made: only it knows of zero replicas. */
function autoscalerByTarget({
  horizontalPodAutoscalers = [],
  scaledObjects,
}: Pick<ClusterObjects, "horizontalPodAutoscalers" | "scaledObjects">): ReadonlyMap<string, InCharge> {
  const triggers = recommendationTriggers(scaledObjects, horizontalPodAutoscalers);
  const multiplied = new Set(
    triggers.flatMap(({ multiplies, scaledObject }) => (multiplies ? [scaledObject.uid] : [])),
  );
  return new Map(
    [...horizontalPodAutoscalers, ...scaledObjects].map((autoscaler): [string, InCharge] => {
      const multiplies = "uid" in autoscaler && multiplied.has(autoscaler.uid);
      return [targetKey(autoscaler), { ...autoscaler, ...(multiplies && { multiplies }) }];
    }),
  );
}

interface WorkloadFacts {
  readonly service: string;
  readonly pods: readonly Pod[];
  readonly autoscaler: InCharge | undefined;
  readonly revision: string | undefined;
  readonly neighbours: Neighbours;
  /** Of its namespace. */
  readonly budgets: readonly PodDisruptionBudget[];
}

function workload(scalable: Scalable, facts: WorkloadFacts): Workload {
  const { annotations, containers, kind, namespace, name, podSelector, replicasWanted } = scalable;
  const override = annotations[ANNOTATIONS.override]?.slice(0, MOST_ANNOTATED);
  const { autoscaler, budgets, pods, revision, service } = facts;
  const placing = placingOf(scalable, facts);
  const scheduled = pods.filter(({ node }) => node !== undefined);
  const disruptions = fewest(budgets, pods);
  const probePaths = [...new Set(containers.flatMap((each) => each.probePaths))];
  return {
    namespace,
    kind,
    name,
    service,
    replicasWanted,
    // What it reports counts pods that no request reaches, such as those of a preview.
    replicasReady:
      podSelector === undefined ? scalable.replicasReady : pods.filter(({ isReady }) => isReady).length,
    ...boundsOf(scalable, autoscaler),
    podsUnscheduled: pods.length - scheduled.length,
    ...(probePaths.length > 0 && { probePaths: probePaths.slice(0, MAX_PROBE_PATHS) }),
    ...(revision !== undefined && { revision }),
    ...(override !== undefined && { override }),
    ...(disruptions && { disruptions }),
    ...(placing && { placing }),
    pods: scheduled.slice(0, MAX_PODS).map((pod) => workloadPod(pod, name)),
  };
}

/** Between which numbers its replicas can come to be now; one number while they are held still. */
function boundsOf(
  { isCanary, replicasWanted }: Pick<Scalable, "isCanary" | "replicasWanted">,
  autoscaler: InCharge | undefined,
): Pick<Workload, "maxReplicas" | "minReplicas" | "scalingPaused"> {
  const { maxReplicas, minReplicas, multiplies, pause } = autoscaler ?? {};
  if (multiplies === true || pause?.of === "scaling") {
    const held = pause?.replicas ?? replicasWanted;
    return {
      minReplicas: held,
      maxReplicas: held,
      scalingPaused: multiplies === true ? "multiplied" : true,
    };
  }
  const noLess = isCanary === true || pause?.of === "scale-in" ? replicasWanted : undefined;
  const least = noLess === undefined ? minReplicas : Math.max(minReplicas ?? 0, noLess);
  const most = pause?.of === "scale-out" ? Math.min(maxReplicas ?? Infinity, replicasWanted) : maxReplicas;
  return {
    ...(least !== undefined && { minReplicas: least }),
    ...(most !== undefined && { maxReplicas: Math.max(most, least ?? 0) }),
  };
}

/** Set by the controller, not by the template. */
const TEMPLATE_HASH = "pod-template-hash";

/** Pods of the newest program say more than its template: what admission has added is in them alone. */
function placingOf(
  { kind, namespace, placed, podLabels }: Scalable,
  { neighbours, pods, revision }: WorkloadFacts,
): Workload["placing"] {
  const newest = pods.find((pod) => pod.revision === revision);
  if (newest !== undefined) return neighbours.placingOf({ namespace, labels: newest.labels, placed: newest });
  const isHashed = kind === "Deployment" && revision !== undefined;
  const labels = isHashed ? { ...podLabels, [TEMPLATE_HASH]: revision } : podLabels;
  return neighbours.placingOf({ namespace, labels, placed });
}

/** Of the budgets that select some of the pods the one that allows the fewest to go. */
function fewest(
  budgets: readonly PodDisruptionBudget[],
  pods: readonly Pod[],
): Workload["disruptions"] | undefined {
  const [first] = budgets
    .filter(({ selector }) => selector !== undefined && pods.some(({ labels }) => selects(selector, labels)))
    .sort((a, b) => a.allowed - b.allowed || (a.name < b.name ? -1 : 1));
  return first && { budget: first.name, allowed: first.allowed };
}

function workloadPod(pod: Pod, workloadName: string): WorkloadPod {
  const main = mainContainer(pod, workloadName);
  const started = pod.containers.flatMap(({ isSidecar, startedAtMs }) =>
    isSidecar || startedAtMs === undefined ? [] : [startedAtMs],
  );
  return {
    uid: pod.uid,
    name: pod.name,
    node: pod.node ?? "",
    ready: pod.isReady,
    ...(started.length > 0 && { startedAtMs: Math.max(...started) }),
    ...(pod.createdAtMs !== undefined && { createdAtMs: pod.createdAtMs }),
    ...(pod.readyAtMs !== undefined && { readyAtMs: pod.readyAtMs }),
    ...(pod.revision !== undefined && { revision: pod.revision }),
    containers: pod.containers
      .slice(0, MAX_CONTAINERS)
      .flatMap((each) => workloadContainer(each === main ? withPodLevel(each, pod) : each, each !== main)),
  };
}

/** What the pod states for all its containers together is the main one's, less what the others state. */
function withPodLevel(main: PodContainer, { containers, ofAll }: Pod): PodContainer {
  const left = (what: "cpuCores" | "memoryBytes"): number | undefined => {
    const all = ofAll.requests[what];
    if (all === undefined) return undefined;
    return containers.reduce((rest, each) => (each === main ? rest : rest - (each.requests[what] ?? 0)), all);
  };
  const requests = { cpuCores: left("cpuCores"), memoryBytes: left("memoryBytes") };
  return {
    ...main,
    requests: { ...positive(requests), ...main.requests },
    limitsInForce: { ...ofAll.limits, ...main.limitsInForce },
  };
}

function positive(amounts: Readonly<Record<"cpuCores" | "memoryBytes", number | undefined>>): Resources {
  const { cpuCores = 0, memoryBytes = 0 } = amounts;
  return { ...(cpuCores > 0 && { cpuCores }), ...(memoryBytes > 0 && { memoryBytes }) };
}

/** A container that does not run yet has no id, and nothing is known of it. */
function workloadContainer(
  { id, name, limitsInForce, oomKilledAtMs, requests, startedAtMs }: PodContainer,
  isSidecar: boolean,
): WorkloadPod["containers"] {
  if (id === undefined) return [];
  const { cpuCores, memoryBytes } = limitsInForce;
  const { cpuCores: cpuRequestCores = 0, memoryBytes: memoryRequestBytes = 0 } = requests;
  return [
    {
      id,
      name,
      ...(isSidecar && { sidecar: true as const }),
      ...(startedAtMs !== undefined && { startedAtMs }),
      ...(oomKilledAtMs !== undefined && { oomKilledAtMs }),
      // A request of zero requests nothing, and a limit of zero is no limit.
      ...(cpuRequestCores > 0 && { cpuRequestCores }),
      ...(memoryRequestBytes > 0 && { memoryRequestBytes }),
      ...(cpuCores !== undefined && cpuCores > 0 && { cpuLimitCores: cpuCores }),
      ...(memoryBytes !== undefined && memoryBytes > 0 && { memoryLimitBytes: memoryBytes }),
    },
  ];
}
