import { z } from "zod";
import { ListOf } from "./bounded.ts";
import { Controller, Identity, StringMap, Timestamp } from "./metadata.ts";
import type { Owner } from "./metadata.ts";
import { Resources } from "./quantity.ts";

const ResourceLists = z
  .object({ requests: Resources.nullish(), limits: Resources.nullish() })
  .nullish()
  .transform((lists) => ({ requests: lists?.requests ?? {}, limits: lists?.limits ?? {} }));

/** Kubernetes itself sets no number; a pod of more containers is not read. */
const MOST_CONTAINERS = 250;
const MOST_CONDITIONS = 100;
const MOST_RESIZE_POLICIES = 16;

const ContainerSpec = z.object({
  name: z.string(),
  resources: ResourceLists,
  resizePolicy: ListOf(
    z.object({ resourceName: z.string(), restartPolicy: z.string() }),
    MOST_RESIZE_POLICIES,
  ),
  restartPolicy: z.string().nullish(),
});

const Terminated = z.object({ reason: z.string().nullish(), finishedAt: Timestamp }).nullish();

const ContainerStatus = z.object({
  name: z.string(),
  containerID: z.string().nullish(),
  ready: z.boolean().nullish(),
  allocatedResources: Resources.nullish(),
  resources: ResourceLists,
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

export interface Pod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly node: string | undefined;
  readonly phase: string;
  readonly qosClass: string | undefined;
  readonly isReady: boolean;
  readonly isDeleting: boolean;
  readonly createdAtMs: number | undefined;
  readonly readyAtMs: number | undefined;
  readonly defaultContainer: string | undefined;
  readonly owner: Owner | undefined;
  /** Hash of the pod template it was made from; absent where no controller states one. */
  readonly revision: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly containers: readonly PodContainer[];
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
    spec: z.object({
      nodeName: z.string().nullish(),
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
      node: spec.nodeName ?? undefined,
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
    requests: spec.resources.requests,
    limits: spec.resources.limits,
    limitsInForce: inForce(spec.resources.limits, status?.resources.limits),
    allocated: status?.allocatedResources ?? undefined,
    restartsOn: spec.resizePolicy
      .filter(({ restartPolicy }) => restartPolicy === "RestartContainer")
      .map(({ resourceName }) => resourceName),
  };
}

/** What the kubelet says of each limit that the pod sets, else the limit itself. */
function inForce(wanted: Resources, applied: Resources | undefined): Resources {
  const { cpuCores = wanted.cpuCores, memoryBytes = wanted.memoryBytes } = applied ?? {};
  return {
    ...(wanted.cpuCores !== undefined && cpuCores !== undefined && { cpuCores }),
    ...(wanted.memoryBytes !== undefined && memoryBytes !== undefined && { memoryBytes }),
  };
}
