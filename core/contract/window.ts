import { z } from "zod";
import { Interference } from "./interference.ts";
import { Count, EpochMs, NodeClassName, NonNegative, ObjectName, Ratio, ServiceName } from "./quantity.ts";
import { ScalingPause } from "./workload.ts";

/** Latency of many calls, seconds. `count` is the number of calls measured. */
export const LatencySummary = z.strictObject({
  count: z.number().int().positive(),
  meanSeconds: NonNegative,
  p50Seconds: NonNegative,
  p95Seconds: NonNegative,
  p99Seconds: NonNegative,
});
export type LatencySummary = z.infer<typeof LatencySummary>;

/** One container of a service over the window. Absent means not measured, never 0. */
export const ContainerWindow = z.strictObject({
  id: z.string().min(1).max(128),
  /** Name within its pod. */
  name: z.string().min(1).max(253).optional(),
  /** On every container of a pod but the main one, whose size a decision sets. See `mainContainers`. */
  sidecar: z.literal(true).optional(),
  /** When its last start was over, or began where readiness is not known: a restart counts. ms since the Unix epoch. */
  startedAtMs: EpochMs.optional(),
  podName: z.string().max(253).optional(),
  node: z.string().max(253).optional(),
  /** Class of that node. Absent where it is not known, and where all nodes are of one class. */
  nodeClass: NodeClassName.optional(),
  /** Calls of its pod whose self time was measured. Absent where the class is, and where spans do not name their pods. */
  calls: Count.optional(),
  cpuRequestCores: NonNegative.optional(),
  cpuLimitCores: z.number().positive().optional(),
  cpuUsageCores: NonNegative.optional(),
  /** Share of CFS periods in which the container was throttled. */
  cpuThrottledRatio: Ratio.optional(),
  memoryRequestBytes: NonNegative.optional(),
  memoryLimitBytes: z.number().positive().optional(),
  memoryWorkingSetBytes: NonNegative.optional(),
  /** Bytes per second that it read from disks and wrote to them. */
  diskBytesPerSecond: NonNegative.optional(),
  /**
   * Kills for lack of memory that were noticed in the window; 0 says that there were none. A kill that made the pod unready
   * is noticed in the window in which it is ready again.
   */
  oomKills: Count.optional(),
  interference: Interference.optional(),
});
export type ContainerWindow = z.infer<typeof ContainerWindow>;

/** Calls of one service to another over the window. */
export const CallEdge = z.strictObject({
  callee: ServiceName,
  callsPerSecond: NonNegative,
  /** Share of these calls that overlapped another call of the same parent span. */
  parallelRatio: Ratio,
  /**
   * Mean of caller's CLIENT span less callee's SERVER span: network and the wait before the callee's handler runs.
   * Belongs to neither service's own latency. Absent when no call was seen from both sides.
   */
  transitSeconds: NonNegative.optional(),
});
export type CallEdge = z.infer<typeof CallEdge>;

/** Own latency of one pod. */
export const PodLatency = z.strictObject({
  /** As its spans name it: name of the pod, else its uid or the instance id of the process. */
  podName: z.string().min(1).max(253),
  latency: LatencySummary,
});
export type PodLatency = z.infer<typeof PodLatency>;

const lastsForward = ({ endMs, startMs }: { readonly startMs: number; readonly endMs: number }): boolean =>
  endMs > startMs;
const FORWARD = { path: ["endMs"], message: "must be after startMs" };

/** The unit of learning and deciding: one service over one interval. */
export const Window = z
  .strictObject({
    namespace: ObjectName,
    service: ServiceName,
    startMs: EpochMs,
    endMs: EpochMs,
    replicasReady: Count.optional(),
    replicasWanted: Count.optional(),
    /** Between which numbers the autoscaler in charge can bring the replicas. */
    minReplicas: Count.optional(),
    maxReplicas: Count.optional(),
    /** The autoscaler in charge is held still. */
    scalingPaused: ScalingPause.optional(),
    /** Pods that no node has taken yet. Absent where the platform does not say. */
    podsUnscheduled: Count.optional(),
    /**
     * CPU that the pods known leave of the node on which a ready pod has the least left, cores: what its containers can request
     * beyond what they do. Absent where nodes are not known.
     */
    nodeRoomCores: NonNegative.optional(),
    /** Start of the youngest ready replica: restart grace counts from here. */
    lastStartedAtMs: EpochMs.optional(),
    /** Name of the newest program: hash of the pod template. Other pods may still run an older one. Absent when not known. */
    revision: z.string().min(1).max(253).optional(),
    /** Share of the ready pods that run `revision`: below 1 during a rolling update. Absent without ready pods. */
    newestRevisionShare: Ratio.optional(),
    /** Requests per second to the whole service. Absent when no source reported any, 0 only when one vouches that there were none. */
    requestsPerSecond: NonNegative.optional(),
    /**
     * Requests that began in the interval, per second, by which traces begin: those known when the window was built. One whose
     * caller sends no spans counts with its answer. Absent where no trace begins, and where requests take so much longer than the
     * grace that too few are known.
     */
    beganPerSecond: NonNegative.optional(),
    errorRatio: Ratio.optional(),
    /** Span duration less the time covered by child spans (union of intervals). */
    ownLatency: LatencySummary.optional(),
    /** True when own latency was derived through the call graph rather than measured on spans. */
    ownLatencyDerived: z.boolean().optional(),
    /**
     * Own latency of the pod with the largest own p95 among those with 20 calls or more; `ownLatency` is that of all pods.
     * Absent when spans do not name their pods or no pod had so many calls.
     */
    worstPodOwnLatency: PodLatency.optional(),
    responseLatency: LatencySummary.optional(),
    /** Requests in the service at once, Little's law: rate times mean response. */
    inFlight: NonNegative.optional(),
    /** Requests waiting or served in the service itself: rate times mean own latency. */
    ownInFlight: NonNegative.optional(),
    callees: z.array(CallEdge).max(1_000),
    /** Calls, seen by the caller only: whoever was called sends no spans, or they did not arrive. Absent where spans are no source. */
    unresolvedCallsPerSecond: NonNegative.optional(),
    /**
     * Which requests of the service may be missing here, in words: rates and counts are then too low, what was measured of
     * latency is so. Absent when a source vouches for all of them.
     */
    missing: z.string().max(500).optional(),
    containers: z.array(ContainerWindow).max(5_000),
  })
  .refine(lastsForward, FORWARD);
export type Window = z.infer<typeof Window>;

/** Calls of one service to another within one flow. */
export const FlowCall = z.strictObject({
  caller: ServiceName,
  callee: ServiceName,
  /** Mean number of calls per request of the flow that reaches the caller. */
  callsPerRequest: NonNegative,
  /** Share of these calls that overlapped another call of the same parent span. */
  parallelRatio: Ratio,
});
export type FlowCall = z.infer<typeof FlowCall>;

/** Calls to one callee within one stage. */
export const StageCall = z.strictObject({
  callee: ServiceName,
  /** Mean number of calls to this callee in one such stage: 5 for a fan-out to five. */
  calls: z.number().positive(),
});
export type StageCall = z.infer<typeof StageCall>;

/**
 * A stage: calls of one caller, each of which overlapped another of them. Stages of a caller follow each other. Stages with
 * the same set of callees are one kind, and each kind is listed once, so that a mean over many traces stays exact: the sum
 * of `perRequest * calls` over the stages with one callee is the `callsPerRequest` of that pair, less the calls of stages
 * that were too many to list.
 */
export const FlowStage = z.strictObject({
  caller: ServiceName,
  /** Mean number of stages of this kind per request of the flow that reaches the caller. */
  perRequest: z.number().positive(),
  /**
   * Mean number of calls of the stage that followed each other up to the one that ended last: 1 when that one waited for no
   * other, more where it did, as in a pool of workers.
   */
  steps: z.number().min(1),
  calls: z.array(StageCall).min(1).max(64),
});
export type FlowStage = z.infer<typeof FlowStage>;

/** One flow (entry operation of the application) over the window, end to end. */
export const FlowWindow = z.strictObject({
  /** Name of the root span, for example `GET /hotels`. */
  flow: z.string().min(1).max(200),
  entryService: ServiceName,
  requestsPerSecond: NonNegative,
  errorRatio: Ratio,
  latency: LatencySummary,
  /** Share of the requests that took longer than the objective. Absent where the source does not count them. */
  overObjectiveRatio: Ratio.optional(),
  /** Services that took part in at least one trace of the flow. */
  services: z.array(ServiceName).max(5_000),
  /** Calls made on behalf of this flow. Absent when the source cannot tell flows apart. */
  calls: z.array(FlowCall).max(20_000).optional(),
  /** How each caller's calls are arranged in time. Absent when the source cannot tell. */
  stages: z.array(FlowStage).max(20_000).optional(),
});
export type FlowWindow = z.infer<typeof FlowWindow>;

/** All services and flows of one application over the same interval. */
export const WindowSet = z
  .strictObject({
    startMs: EpochMs,
    endMs: EpochMs,
    windows: z.array(Window),
    flows: z.array(FlowWindow),
  })
  .refine(lastsForward, FORWARD);
export type WindowSet = z.infer<typeof WindowSet>;
