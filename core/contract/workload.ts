import { z } from "zod";
import { Count, EpochMs, NonNegative, ObjectName, ServiceName } from "./quantity.ts";

/** One container of a pod, as the platform declares it. */
export const WorkloadContainer = z.strictObject({
  id: z.string().min(1).max(128),
  name: z.string().min(1).max(253),
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
  startedAtMs: EpochMs.optional(),
  containers: z.array(WorkloadContainer).max(64),
});
export type WorkloadPod = z.infer<typeof WorkloadPod>;

/** A scalable workload and its pods: a Deployment, a StatefulSet, or a service of the local platform. */
export const Workload = z.strictObject({
  namespace: ObjectName,
  kind: z.string().min(1).max(63),
  name: ObjectName,
  /** `service.name` in traces. */
  service: ServiceName,
  replicasWanted: Count,
  replicasReady: Count,
  pods: z.array(WorkloadPod).max(5_000),
});
export type Workload = z.infer<typeof Workload>;

export const WORKLOADS_SCHEMA = "tradewind.dev/workloads/v1";

/** Everything a workload source knows at one time; also the format of a static workloads file. */
export const WorkloadList = z.strictObject({
  schema: z.literal(WORKLOADS_SCHEMA),
  observedAtMs: EpochMs,
  workloads: z.array(Workload).max(10_000),
});
export type WorkloadList = z.infer<typeof WorkloadList>;
