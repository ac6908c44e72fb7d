import { z } from "zod";
import { Amounts, Labels, NodeGroup, Placing, Taint } from "./placing.ts";
import { Count, EpochMs, NodeClassName, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/** One container of a pod, as the platform declares it. */
export const WorkloadContainer = z.strictObject({
  id: z.string().min(1).max(128),
  name: z.string().min(1).max(253),
  /** On every container of the pod but the main one, whose size a decision sets. */
  sidecar: z.literal(true).optional(),
  /** When it started last, ms since the Unix epoch. */
  startedAtMs: EpochMs.optional(),
  /** When it was last killed for lack of memory, ms since the Unix epoch. */
  oomKilledAtMs: EpochMs.optional(),
  /** Process id on the node, where the platform runs bare processes. */
  pid: z.number().int().positive().optional(),
  cpuRequestCores: NonNegative.optional(),
  cpuLimitCores: z.number().positive().optional(),
  memoryRequestBytes: NonNegative.optional(),
  memoryLimitBytes: z.number().positive().optional(),
});
export type WorkloadContainer = z.infer<typeof WorkloadContainer>;

export const WorkloadPod = z.strictObject({
  uid: z.string().min(1).max(64),
  name: z.string().min(1).max(253),
  node: z.string().min(1).max(253),
  ready: z.boolean(),
  /** Start of the container that started last. */
  startedAtMs: EpochMs.optional(),
  createdAtMs: EpochMs.optional(),
  /** When it became ready; less `createdAtMs` this is how long a replica takes to help. */
  readyAtMs: EpochMs.optional(),
  /** The program it runs: hash of its pod template. */
  revision: z.string().min(1).max(253).optional(),
  containers: z.array(WorkloadContainer).max(64),
});
export type WorkloadPod = z.infer<typeof WorkloadPod>;

/** What a gRPC probe asks for (grpc/health/v1/health.proto). */
export const GRPC_PROBE_PATH = "/grpc.health.v1.Health/Check";

/**
 * Why an autoscaler is held still: by a person, or since its HPA would multiply the number recommended by the pods that are ready
 * (`metricType: Value`), so that it is given none.
 */
export const ScalingPause = z.literal([true, "multiplied"]);

/** Characters of an annotation that are read. */
export const MOST_ANNOTATED = 4_000;

/** A scalable workload and its pods: a Deployment, a StatefulSet, or a service of the local platform. */
export const Workload = z.strictObject({
  namespace: ObjectName,
  kind: z.string().min(1).max(63),
  name: ObjectName,
  /** `service.name` in traces. */
  service: ServiceName,
  replicasWanted: Count,
  replicasReady: Count,
  /** Between which numbers the autoscaler in charge (HPA, ScaledObject) can bring its replicas now; absent without one. */
  minReplicas: Count.optional(),
  maxReplicas: Count.optional(),
  /** The autoscaler in charge is held still: its bounds are then one number. */
  scalingPaused: ScalingPause.optional(),
  /** Pods that no node has taken yet: more replicas would wait like them. */
  podsUnscheduled: Count.optional(),
  /** Overrides that its annotation orders, as JSON; absent where it has none. */
  override: z.string().max(MOST_ANNOTATED).optional(),
  /** How many of its pods may be taken down at once, by its tightest PodDisruptionBudget; absent without one. */
  disruptions: z.strictObject({ budget: ObjectName, allowed: Count }).optional(),
  /** What kubelets ask its containers for to see how they are, as URL paths; absent where they ask nothing by HTTP or gRPC. */
  probePaths: z.array(z.string().min(1).max(500)).max(64).optional(),
  /** The newest program, in terms of the pods' `revision`. */
  revision: z.string().min(1).max(253).optional(),
  /** Absent where it is not known, or another scheduler than the cluster's own chooses the node. */
  placing: Placing.optional(),
  pods: z.array(WorkloadPod).max(5_000),
});
export type Workload = z.infer<typeof Workload>;

/** Room for pods on one node; absent amounts are not known. */
export const NodeCapacity = z.strictObject({
  name: z.string().min(1).max(253),
  /** False while it takes no new pods. */
  schedulable: z.boolean(),
  cpuCores: NonNegative.optional(),
  memoryBytes: NonNegative.optional(),
  pods: NonNegative.optional(),
  /** Label `node.kubernetes.io/instance-type`, as the cloud provider sets it. */
  instanceType: NodeClassName.optional(),
  /** What it has of other resources. */
  others: Amounts.optional(),
  /** What pods that are bound to it request, and `pods` where those of all namespaces may be seen; absent where none may. */
  taken: Amounts.optional(),
  /** Those that workloads ask for. */
  labels: Labels.optional(),
  taints: z.array(Taint).max(1_000).optional(),
});
export type NodeCapacity = z.infer<typeof NodeCapacity>;

/** Of a quota, or what one pod takes of it. */
export const QuotaAmounts = z.strictObject({
  cpuRequestCores: NonNegative.optional(),
  memoryRequestBytes: NonNegative.optional(),
  cpuLimitCores: NonNegative.optional(),
  memoryLimitBytes: NonNegative.optional(),
  pods: NonNegative.optional(),
});
export type QuotaAmounts = z.infer<typeof QuotaAmounts>;
export const QUOTA_AMOUNTS = QuotaAmounts.keyof().options;

/** What all pods of a namespace may use together, and what they use now. */
export const NamespaceQuota = z.strictObject({
  namespace: ObjectName,
  name: ObjectName,
  hard: QuotaAmounts,
  used: QuotaAmounts,
});
export type NamespaceQuota = z.infer<typeof NamespaceQuota>;

/** What a container may be at least and at most. */
export const ContainerRange = z.strictObject({
  cpuMinCores: NonNegative.optional(),
  cpuMaxCores: z.number().positive().optional(),
  memoryMinBytes: NonNegative.optional(),
  memoryMaxBytes: z.number().positive().optional(),
});
export type ContainerRange = z.infer<typeof ContainerRange>;

/** The same of every container of a namespace, by a LimitRange. */
export const ContainerLimits = ContainerRange.extend({ namespace: ObjectName });
export type ContainerLimits = z.infer<typeof ContainerLimits>;

export const WORKLOADS_SCHEMA = "tradewind.dev/workloads/v1";

/** Everything a workload source knows at one time; also the format of a static workloads file. */
export const WorkloadList = z.strictObject({
  schema: z.literal(WORKLOADS_SCHEMA),
  observedAtMs: EpochMs,
  workloads: z.array(Workload).max(10_000),
  /** Absent when the source does not know the nodes. */
  nodes: z.array(NodeCapacity).max(20_000).optional(),
  quotas: z.array(NamespaceQuota).max(10_000).optional(),
  containerLimits: z.array(ContainerLimits).max(10_000).optional(),
  /** Absent where nothing adds nodes, or it is not known. */
  nodeGroups: z.array(NodeGroup).max(10_000).optional(),
});
export type WorkloadList = z.infer<typeof WorkloadList>;
