import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type {
  NodeCapacity,
  Workload,
  WorkloadContainer,
  WorkloadList,
  WorkloadPod,
} from "@tradewind/core/contract/workload.ts";
import type { NodeGroup, Placing } from "@tradewind/core/contract/placing.ts";
import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { ContainerModel } from "../model/application-model.ts";
import type { ClusterModel } from "../model/plant-model.ts";
import { mainId, sidecarId } from "./metrics.ts";
import type { ClusterNode } from "../cluster/node.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Deployment } from "../cluster/deployment.ts";
import { NOTHING } from "../cluster/ledger.ts";
import type { Pod } from "../cluster/pod.ts";

export interface WorkloadParts {
  readonly cluster: Cluster;
  readonly services: readonly string[];
  readonly namespace: string;
  /** Start of the run, ms since the Unix epoch. */
  readonly startMs: number;
  readonly specOf: (service: string) => ServiceSpec;
}

/** The cluster as the predictor's Kubernetes source describes it. @param nowMs from the start of the run */
export function workloadList(parts: WorkloadParts, nowMs: number): WorkloadList {
  const { cluster, services, startMs } = parts;
  const { model, nodesToCome, present } = cluster.scheduler;
  const isShared = isSharedBy(model);
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: startMs + nowMs,
    workloads: cluster.deployments.map((deployment, index) =>
      workload(parts, services[index] ?? "", deployment, isShared),
    ),
    nodes: [
      ...Array.from(present, (node) => capacityOf(node, isShared)),
      ...(model.taintedNodes ?? []).map((cores, at) => taintedNode(cores, at, model.nodeMemoryBytes)),
    ],
    ...(nodesToCome > 0 && { nodeGroups: [groupOf(model, nodesToCome)] }),
  };
}

/** There is more on the nodes than the application, or more nodes may come. */
const isSharedBy = ({ neighbours, nodeAutoscaler, nodePods, taintedNodes }: ClusterModel): boolean =>
  [neighbours, nodeAutoscaler, nodePods, taintedNodes].some((each) => each !== undefined);

const capacityOf = (
  { cores, kind, memoryBytes, name, pods, taken }: ClusterNode,
  isShared: boolean,
): NodeCapacity => ({
  name,
  schedulable: true,
  cpuCores: cores,
  memoryBytes,
  pods,
  ...(kind && { instanceType: kind.instanceType }),
  ...(isShared && { taken: { cpu: taken.requestCores, memory: taken.requestBytes, pods: taken.pods } }),
});

const taintedNode = (cpuCores: number, at: number, memoryBytes: number): NodeCapacity => ({
  name: `control-plane-${at}`,
  schedulable: true,
  cpuCores,
  memoryBytes,
  taken: { pods: 0 },
  taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }],
});

/** Nodes come with the pods that every node has. */
const groupOf = ({ neighbours, nodeCores, nodeMemoryBytes }: ClusterModel, nodes: number): NodeGroup => ({
  name: "pool",
  node: {
    cpu: nodeCores - (neighbours?.cores ?? 0),
    memory: nodeMemoryBytes - (neighbours?.memoryBytes ?? 0),
  },
  labels: {},
  taints: [],
  requirements: [],
  left: { nodes },
});

function workload(
  { namespace, specOf, startMs }: WorkloadParts,
  name: string,
  deployment: Deployment,
  isShared: boolean,
): Workload {
  const { maxReplicas, minReplicas } = specOf(name);
  const scheduled = deployment.pods.filter(({ node }) => node !== undefined);
  return {
    namespace,
    kind: "Deployment",
    name,
    service: name,
    replicasWanted: deployment.replicas,
    replicasReady: deployment.ready,
    minReplicas,
    maxReplicas,
    podsUnscheduled: deployment.pods.length - scheduled.length,
    revision: revision(deployment),
    ...(isShared && { placing: placingOf(deployment) }),
    pods: scheduled.map((pod) => workloadPod(pod, startMs)),
  };
}

function placingOf({ pods }: Deployment): Placing {
  const newest = pods.at(-1);
  const { requestBytes, requestCores } = newest?.holdingAt(newest.size) ?? NOTHING;
  return { requests: { cpu: requestCores, memory: requestBytes } };
}

function workloadPod(pod: Pod, epochMs: number): WorkloadPod {
  const { createdMs, model, name, node, oomKilledMs, phase, readyMs, scheduledMs, size } = pod;
  const { sidecar } = model;
  return {
    uid: name,
    name,
    node: node?.name ?? "",
    ready: phase === "ready" && node?.lost !== true,
    ...(scheduledMs !== undefined && { startedAtMs: epochMs + scheduledMs }),
    createdAtMs: epochMs + createdMs,
    ...(readyMs !== undefined && { readyAtMs: epochMs + readyMs }),
    revision: revision(pod),
    containers: [
      {
        ...container(mainId(pod), model.name, size),
        ...(scheduledMs !== undefined && {
          startedAtMs: epochMs + Math.max(scheduledMs, oomKilledMs ?? -Infinity),
        }),
        ...(oomKilledMs !== undefined && { oomKilledAtMs: epochMs + oomKilledMs }),
      },
      ...(sidecar === undefined
        ? []
        : [{ ...container(sidecarId(pod), sidecar.name, sidecar), sidecar: true as const }]),
    ],
  };
}

/** Stands for the hash of the pod template. */
const revision = ({ generation }: Pick<Pod, "generation">): string => `v${generation}`;

function container(id: string, name: string, size: ContainerModel): WorkloadContainer {
  const { cpuLimitCores, cpuRequestCores, memoryLimitBytes, memoryRequestBytes } = size;
  return {
    id,
    name,
    cpuRequestCores,
    ...(cpuLimitCores !== undefined && { cpuLimitCores }),
    memoryRequestBytes,
    ...(memoryLimitBytes !== undefined && { memoryLimitBytes }),
  };
}
