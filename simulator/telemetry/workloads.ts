import { WORKLOADS_SCHEMA } from "@tradewind/core/contract/workload.ts";
import type {
  NodeCapacity,
  Workload,
  WorkloadContainer,
  WorkloadList,
  WorkloadPod,
} from "@tradewind/core/contract/workload.ts";
import type { ServiceSpec } from "@tradewind/core/contract/application.ts";
import type { ContainerModel } from "../model/application-model.ts";
import { mainId, sidecarId } from "./metrics.ts";
import type { ClusterNode } from "../cluster/node.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { Deployment } from "../cluster/deployment.ts";
import type { Pod } from "../cluster/pod.ts";

/** Pods that a node takes at most, as the kubelet's default. */
const MAX_PODS = 110;

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
  return {
    schema: WORKLOADS_SCHEMA,
    observedAtMs: startMs + nowMs,
    workloads: cluster.deployments.map((deployment, index) =>
      workload(parts, services[index] ?? "", deployment),
    ),
    nodes: Array.from(cluster.scheduler.present, capacityOf),
  };
}

const capacityOf = ({ cores, kind, memoryBytes, name }: ClusterNode): NodeCapacity => ({
  name,
  schedulable: true,
  cpuCores: cores,
  memoryBytes,
  pods: MAX_PODS,
  ...(kind && { instanceType: kind.instanceType }),
});

function workload(
  { namespace, specOf, startMs }: WorkloadParts,
  name: string,
  deployment: Deployment,
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
    pods: scheduled.map((pod) => workloadPod(pod, startMs)),
  };
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
