import type { Application } from "@tradewind/core/contract/application.ts";
import type { WindowSet } from "@tradewind/core/contract/window.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";

/**
 * `pending`: no node has taken the pod yet. `starting`: on a node, not ready. `ready`: serves requests. `draining`: finishes
 * the requests it has and takes no more.
 */
export type PodPhase = "pending" | "starting" | "ready" | "draining";

/** A container beside the main one, for example a service mesh proxy. */
export interface SidecarView {
  readonly name: string;
  readonly cpuRequestCores: number;
  readonly cpuLimitCores?: number;
  readonly memoryRequestBytes: number;
  readonly memoryLimitBytes?: number;
  /** Mean over the last complete scrape interval; absent before the first. */
  readonly cpuUsageCores?: number;
  readonly memoryWorkingSetBytes?: number;
}

/** One pod as `kubectl get` and `kubectl top` show it. Requests, limits and use are those of the main container. */
export interface PodView {
  readonly name: string;
  readonly service: string;
  /** Absent while the pod is pending. */
  readonly node?: string;
  readonly phase: PodPhase;
  readonly createdAtMs: number;
  /** Absent until the pod was ready for the first time. */
  readonly readyAtMs?: number;
  readonly cpuRequestCores: number;
  readonly cpuLimitCores?: number;
  readonly memoryRequestBytes: number;
  readonly memoryLimitBytes?: number;
  /**
   * Mean over the last complete scrape interval (metrics-server: 15 s). Absent before the first one and while metrics are
   * out; NaN in the plant's NaN intervals.
   */
  readonly cpuUsageCores?: number;
  /** At the last scrape; absent and NaN as `cpuUsageCores`. */
  readonly memoryWorkingSetBytes?: number;
  /** OOM kills of the main container since the pod was created. */
  readonly oomKills: number;
  readonly sidecars: readonly SidecarView[];
}

/** A size of the main container; an absent part stays as it is. Requests and limits move together, see `World.resize`. */
export interface Size {
  readonly cpuCores?: number;
  readonly memoryBytes?: number;
}

/** Latencies of the requests counted, end to end, as the client of the entry service measures them. */
export interface LatencyView {
  /** Requests measured: answered and failed ones. */
  readonly count: number;
  readonly meanSeconds: number;
  /** Value that the share `quantile` [0, 1] of requests does not exceed, within 0.5 %; 0 when there are none. */
  quantileSeconds(quantile: number): number;
  /** The latencies that are in this view and not in an earlier one of the same route. */
  since(earlier: LatencyView): LatencyView;
  /** The latencies of both views, for example of two routes. */
  with(other: LatencyView): LatencyView;
}

/** The requests of one route that ended within one minute. */
export interface MinuteAccount {
  readonly startMs: number;
  readonly requests: number;
  readonly failed: number;
  /** Requests over the route's objective, failed ones included. */
  readonly over: number;
  /** The objective's percentile of the minute's requests, seconds; a failed request counts as infinitely slow. */
  readonly percentileSeconds: number;
}

/** What the users of one route (an entry operation and the services behind it) got since the start of the run. */
export interface RouteAccount {
  readonly route: string;
  /** The latency that the route is judged by, seconds. */
  readonly objectiveSeconds: number;
  /** Share of the requests that must stay under it, 0.95 for p95. */
  readonly percentile: number;
  /** Requests that ended, failed ones included. */
  readonly requests: number;
  readonly failed: number;
  /** Requests over the route's objective, failed ones included. */
  readonly over: number;
  /** Sum of the latencies of all requests. */
  readonly sumSeconds: number;
  readonly latency: LatencyView;
  /** Complete minutes since the start, in order; minutes without requests are left out. */
  readonly minutes: readonly MinuteAccount[];
  /** Minutes in which more than the allowed share of the requests was over the objective. */
  readonly minutesOver: number;
}

/** Amounts of CPU and memory held over time. Pods count from the moment a node takes them until they are gone. */
export interface Held {
  /** Requests of all containers, core seconds. */
  readonly requestCoreSeconds: number;
  /** Limits of all containers; a container without a limit counts with its request. */
  readonly limitCoreSeconds: number;
  readonly requestByteSeconds: number;
  readonly limitByteSeconds: number;
  /** CPU time that containers used, core seconds. */
  readonly usedCoreSeconds: number;
  /** Pods times seconds. */
  readonly podSeconds: number;
  /** Allocatable cores of the nodes times seconds: what a bill for nodes counts. */
  readonly nodeCoreSeconds: number;
}

/** Totals since the start of the run; take the difference of two accounts for an interval. */
export interface Account extends Held {
  readonly atMs: number;
  readonly routes: readonly RouteAccount[];
  /** Containers' requests held, the same number as `requestCoreSeconds`. */
  readonly coreSeconds: number;
  /** The same number as `requestByteSeconds`. */
  readonly byteSeconds: number;
  /** Pods that a node took. */
  readonly starts: number;
  /** Pods that were taken down. */
  readonly stops: number;
  /** Times that a container was killed for using more memory than its limit. */
  readonly oomKills: number;
  /** Minutes in which any route had more than the allowed share of its requests over its objective. */
  readonly minutesOver: number;
  /** Complete minutes with at least one request. */
  readonly minutes: number;
  readonly services: readonly ServiceHeld[];
}

/** What the pods of one service held. */
export interface ServiceHeld extends Omit<Held, "nodeCoreSeconds"> {
  readonly service: string;
  readonly starts: number;
  readonly stops: number;
  readonly oomKills: number;
}

/** Use of the main containers of the ready pods of a service. */
export interface ServiceUse {
  /** Pods whose use was read. */
  readonly pods: number;
  readonly cpuCores: number;
  /** Means over the pods; absent where a container has no limit. */
  readonly throttledRatio?: number;
  readonly cpuLimitCores?: number;
  readonly memoryBytes: number;
  readonly memoryLimitBytes?: number;
}

/**
 * An application on a cluster under load. Time moves only in `advanceTo`. Everything is deterministic: the same plant,
 * seed and actions give the same account, byte for byte, and arrivals and demands do not depend on the actions.
 */
export interface World {
  /** Milliseconds since the Unix epoch. */
  readonly nowMs: number;
  /** Names of the services, in the order of the application. */
  readonly services: readonly string[];
  /** Runs all events up to and including `untilMs`. @throws RangeError when `untilMs` lies before `nowMs` */
  advanceTo(untilMs: number): void;
  /** Pods that exist, the oldest first. @throws RangeError for a service that does not exist, as all methods do */
  pods(service: string): readonly PodView[];
  /** The workloads and nodes as the predictor's Kubernetes source gives them. */
  workloads(): WorkloadList;
  /**
   * The windows over [startMs, endMs) as the predictor's sources would give them now: spans through the predictor's
   * `WindowBuilder` with the plant's head sampling and span delay, container rates from scrapes, every container of a
   * pod apart. Call it once per interval, in order, when `nowMs` is at least `endMs` plus the grace (5 s).
   */
  windowSet(startMs: number, endMs: number): WindowSet;
  /**
   * What agents read of the main containers of each service's ready pods over an interval that ends now; absent where a world has
   * no containers to read.
   */
  serviceUses?(startMs: number, endMs: number): ReadonlyMap<string, ServiceUse>;
  /** Sets `spec.replicas` of the service's Deployment; scheduling, start, warm-up and draining follow. */
  setReplicas(service: string, replicas: number): void;
  /** `spec.replicas` as set last. */
  replicas(service: string): number;
  /**
   * Changes the size of the main container, of all pods now and of those to come. Requests take the new values; a limit is
   * scaled by the same factor and stays absent where there is none (so does the VPA).
   * `in-place`: at once, without a restart; a pod whose node lacks the amount keeps its size until it fits.
   * `recreate`: by a rolling update of the Deployment.
   */
  resize(service: string, size: Size, how: "in-place" | "recreate"): void;
  account(): Account;
}

/** Part of a run, seconds from its start; `endSeconds` is not included. */
export interface Span {
  readonly startSeconds: number;
  readonly endSeconds: number;
}

/** How the HorizontalPodAutoscaler of the plant behaves; the defaults are those of Kubernetes. */
export interface HpaBehaviour {
  /** Default 15. */
  readonly syncSeconds: number;
  /** Ratio by which a metric may be off its target without an action; default 0.1. */
  readonly tolerance: number;
  /** Stabilization window for scaling down, default 300. */
  readonly scaleDownSeconds: number;
  /** Stabilization window for scaling up, default 0. */
  readonly scaleUpSeconds: number;
}

export const DEFAULT_HPA: HpaBehaviour = {
  syncSeconds: 15,
  tolerance: 0.1,
  scaleDownSeconds: 300,
  scaleUpSeconds: 0,
};

/** Failures of what lies between the application and its autoscaler. All lists are in order and do not overlap. */
export interface ControlFaults {
  /** No scrape of resource metrics succeeds: use of containers is absent in pods and windows. The world applies it. */
  readonly metricOutages: readonly Span[];
  /** Spans are lost: windows have no traffic. The world applies it. */
  readonly traceOutages: readonly Span[];
  /** Use of containers is NaN in pods, and numbers in windows are NaN. The world applies it. */
  readonly nanWindows: readonly Span[];
  /** The scaler answers UNAVAILABLE. The control path applies it. */
  readonly scalerDown: readonly Span[];
}

export const NO_FAULTS: ControlFaults = {
  metricOutages: [],
  traceOutages: [],
  nanWindows: [],
  scalerDown: [],
};

/** A closed-loop experiment without a controller: an application, its load, its cluster and what goes wrong. */
export interface Plant {
  readonly name: string;
  /** One sentence: what it tests. */
  readonly about: string;
  /** What a controller is configured with: entry, objective, bounds of each service. */
  readonly application: Application;
  /** Length of the run. */
  readonly seconds: number;
  /** Start of the run, ms since the Unix epoch; a multiple of a minute. */
  readonly startMs: number;
  /** Seconds at the start that a report leaves out. */
  readonly warmUpSeconds: number;
  /** Length of the windows that controllers see. */
  readonly windowSeconds: number;
  /** Mean time from the creation of a pod on a node with capacity until it is ready, seconds. */
  readonly podStartSeconds: number;
  readonly hpa: HpaBehaviour;
  readonly faults: ControlFaults;
  create(seed: number): World;
}
