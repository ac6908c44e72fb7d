import { z } from "zod";
import type { Amounts } from "@tradewind/core/contract/placing.ts";
import { ListOf } from "./bounded.ts";
import { Controller, Identity, StringMap, Timestamp } from "./metadata.ts";
import type { Owner } from "./metadata.ts";
import {
  AmountList,
  cpuAndMemory,
  MOST_CONTAINERS,
  PlacedSpec,
  podRequests,
  RequestingContainer,
  rulesOf,
  SpecResources,
} from "./pod-spec.ts";
import type { PodRules } from "./pod-spec.ts";
import type { Resources } from "./quantity.ts";

const MOST_CONDITIONS = 100;
const MOST_RESIZE_POLICIES = 16;

const ContainerSpec = RequestingContainer.extend({
  resizePolicy: ListOf(
    z.object({ resourceName: z.string(), restartPolicy: z.string() }),
    MOST_RESIZE_POLICIES,
  ),
});

const Terminated = z.object({ reason: z.string().nullish(), finishedAt: Timestamp }).nullish();

const ContainerStatus = z.object({
  name: z.string(),
  containerID: z.string().nullish(),
  ready: z.boolean().nullish(),
  allocatedResources: AmountList,
  resources: SpecResources,
  state: z
    .object({ running: z.object({ startedAt: Timestamp }).nullish(), terminated: Terminated })
    .nullish(),
  lastState: z.object({ terminated: Terminated }).nullish(),
});

const Condition = z.object({
  type: z.string(),
  status: z.string(),
  reason: z.string().nullish(),
  message: z.string().nullish(),
  lastTransitionTime: Timestamp,
});

/** A container that runs as long as its pod: not an init container, unless that stays as a sidecar. */
export interface PodContainer {
  readonly name: string;
  /** As the runtime names it, `containerd://…`; absent until it runs. */
  readonly id: string | undefined;
  readonly isSidecar: boolean;
  readonly startedAtMs: number | undefined;
  /** When the kernel last killed it for lack of memory; absent when it last ended in another way, or never. */
  readonly oomKilledAtMs: number | undefined;
  readonly requests: Resources;
  readonly limits: Resources;
  /** As the kubelet has applied them; the wanted ones until it says. Differ while a resize is pending. */
  readonly limitsInForce: Resources;
  /** What the kubelet has set aside for it, which a resize may be still on the way to. */
  readonly allocated: Resources | undefined;
  /** Resources whose change restarts the container. */
  readonly restartsOn: readonly string[];
}

/** `PodResizePending` and `PodResizeInProgress` as the kubelet reports them. */
export interface ResizeCondition {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly sinceMs: number | undefined;
}

/** What a pod takes of a node, and which others it keeps away. */
export interface PlacedPod {
  readonly namespace: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly isDeleting: boolean;
  readonly labels: Readonly<Record<string, string>>;
  /** What it takes of its node in all, see {@link podRequests}. */
  readonly requests: Amounts;
  readonly rules: PodRules;
}

export interface Pod extends PlacedPod {
  readonly name: string;
  readonly uid: string;
  readonly qosClass: string | undefined;
  readonly isReady: boolean;
  readonly createdAtMs: number | undefined;
  readonly readyAtMs: number | undefined;
  readonly defaultContainer: string | undefined;
  readonly owner: Owner | undefined;
  /** Hash of the pod template it was made from; absent where no controller states one. */
  readonly revision: string | undefined;
  readonly containers: readonly PodContainer[];
  /** Of all its containers together, where the pod states any. */
  readonly ofAll: { readonly requests: Resources; readonly limits: Resources };
  readonly resizes: readonly ResizeCondition[];
}

const OOM_KILLED = "OOMKilled";
const DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container";
/** Labels by which controllers mark the pods of one template: of Deployments, of StatefulSets, then of Rollouts. */
const REVISION_LABELS = ["pod-template-hash", "controller-revision-hash", "rollouts-pod-template-hash"];
const RESIZE_CONDITIONS = new Set(["PodResizePending", "PodResizeInProgress"]);

/** A pod, reduced to what is used of it: about a kilobyte for each container. */
export const Pod = z
  .object({
    metadata: Identity.extend({
      annotations: StringMap,
      labels: StringMap,
      creationTimestamp: Timestamp,
      deletionTimestamp: Timestamp,
      ownerReferences: Controller,
    }),
    spec: PlacedSpec.extend({
      containers: ListOf(ContainerSpec, MOST_CONTAINERS),
      initContainers: ListOf(ContainerSpec, MOST_CONTAINERS),
    }),
    status: z
      .object({
        phase: z.string().nullish(),
        qosClass: z.string().nullish(),
        startTime: Timestamp,
        conditions: ListOf(Condition, MOST_CONDITIONS),
        containerStatuses: ListOf(ContainerStatus, MOST_CONTAINERS),
        initContainerStatuses: ListOf(ContainerStatus, MOST_CONTAINERS),
      })
      .prefault({}),
  })
  .transform(({ metadata, spec, status }): Pod => {
    const ready = status.conditions.find(({ type }) => type === "Ready");
    const isReady = ready?.status === "True" && metadata.deletionTimestamp === undefined;
    const statuses = new Map(
      [...status.containerStatuses, ...status.initContainerStatuses].map((each) => [each.name, each]),
    );
    const sidecars = spec.initContainers.filter(({ restartPolicy }) => restartPolicy === "Always");
    return {
      namespace: metadata.namespace,
      name: metadata.name,
      uid: metadata.uid,
      node: spec.nodeName,
      ...placedBy(spec, [...statuses.values()], status.conditions),
      ofAll: {
        requests: cpuAndMemory(spec.resources.requests),
        limits: cpuAndMemory(spec.resources.limits),
      },
      phase: status.phase ?? "Pending",
      qosClass: status.qosClass ?? undefined,
      isReady,
      isDeleting: metadata.deletionTimestamp !== undefined,
      createdAtMs: metadata.creationTimestamp,
      readyAtMs: isReady ? ready.lastTransitionTime : undefined,
      defaultContainer: metadata.annotations[DEFAULT_CONTAINER],
      owner: metadata.ownerReferences,
      revision: REVISION_LABELS.map((name) => metadata.labels[name]).find((value) => value),
      labels: metadata.labels,
      containers: [
        ...spec.containers.map((each) => container(each, statuses.get(each.name), false)),
        ...sidecars.map((each) => container(each, statuses.get(each.name), true)),
      ],
      resizes: status.conditions
        .filter((each) => RESIZE_CONDITIONS.has(each.type) && each.status === "True")
        .map(({ type, reason, message, lastTransitionTime }) => ({
          type,
          reason: reason ?? "",
          message: (message ?? "").slice(0, 500),
          sinceMs: lastTransitionTime,
        })),
    };
  });

/** What the pod takes of its node, and its rules. */
function placedBy(
  spec: PlacedSpec,
  statuses: readonly z.infer<typeof ContainerStatus>[],
  conditions: readonly z.infer<typeof Condition>[],
): Pick<PlacedPod, "requests" | "rules"> {
  const aside = statuses.flatMap(({ allocatedResources, name, resources }): [string, Amounts][] => {
    const known = [...Object.entries(resources.requests), ...Object.entries(allocatedResources)];
    return known.length === 0 ? [] : [[name, largest(known)]];
  });
  const isRefused = conditions.some(
    ({ reason, status, type }) => type === "PodResizePending" && status === "True" && reason === "Infeasible",
  );
  return { requests: podRequests(spec, new Map(aside), isRefused), rules: rulesOf(spec) };
}

function largest(amounts: readonly (readonly [string, number])[]): Amounts {
  const most: Amounts = {};
  for (const [name, amount] of amounts) most[name] = Math.max(most[name] ?? 0, amount);
  return most;
}

/** A pod of any namespace, reduced to what it takes of its node and keeps away from it. */
export const BoundPod = z
  .object({
    metadata: z.object({
      namespace: z.string().default(""),
      labels: StringMap,
      deletionTimestamp: Timestamp,
    }),
    spec: PlacedSpec,
    status: z
      .object({
        phase: z.string().nullish(),
        conditions: ListOf(Condition, MOST_CONDITIONS),
        containerStatuses: ListOf(ContainerStatus, MOST_CONTAINERS),
        initContainerStatuses: ListOf(ContainerStatus, MOST_CONTAINERS),
      })
      .prefault({}),
  })
  .transform(({ metadata, spec, status }): PlacedPod => {
    const statuses = [...status.containerStatuses, ...status.initContainerStatuses];
    const { requests, rules } = placedBy(spec, statuses, status.conditions);
    const { apart, hostPorts } = rules;
    return {
      namespace: metadata.namespace,
      node: spec.nodeName,
      phase: status.phase ?? "Pending",
      isDeleting: metadata.deletionTimestamp !== undefined,
      labels: metadata.labels,
      requests,
      rules: { ...(apart && { apart }), ...(hostPorts && { hostPorts }) },
    };
  });

function container(
  spec: z.infer<typeof ContainerSpec>,
  status: z.infer<typeof ContainerStatus> | undefined,
  isSidecar: boolean,
): PodContainer {
  const id = status?.containerID ?? "";
  return {
    name: spec.name,
    id: id === "" ? undefined : id,
    isSidecar,
    startedAtMs: status?.state?.running?.startedAt,
    oomKilledAtMs: [status?.state?.terminated, status?.lastState?.terminated].find(
      (ended) => ended?.reason === OOM_KILLED,
    )?.finishedAt,
    requests: cpuAndMemory(spec.resources.requests),
    limits: cpuAndMemory(spec.resources.limits),
    limitsInForce: inForce(cpuAndMemory(spec.resources.limits), cpuAndMemory(status?.resources.limits ?? {})),
    allocated: status && allocatedOf(status.allocatedResources),
    restartsOn: spec.resizePolicy
      .filter(({ restartPolicy }) => restartPolicy === "RestartContainer")
      .map(({ resourceName }) => resourceName),
  };
}

const allocatedOf = (amounts: Amounts): Resources | undefined =>
  Object.keys(amounts).length === 0 ? undefined : cpuAndMemory(amounts);

/** What the kubelet says of each limit that the pod sets, else the limit itself. */
function inForce(wanted: Resources, applied: Resources | undefined): Resources {
  const { cpuCores = wanted.cpuCores, memoryBytes = wanted.memoryBytes } = applied ?? {};
  return {
    ...(wanted.cpuCores !== undefined && cpuCores !== undefined && { cpuCores }),
    ...(wanted.memoryBytes !== undefined && memoryBytes !== undefined && { memoryBytes }),
  };
}
