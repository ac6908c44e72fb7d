import type {
  CallEdge,
  ContainerWindow,
  FlowCall,
  FlowStage,
  FlowWindow,
  LatencySummary,
  Window,
  WindowSet,
} from "@tradewind/core/contract/window.ts";
import type {
  EdgeAccumulator,
  FlowAccumulator,
  IntervalAccumulator,
  ServiceAccumulator,
} from "./accumulator.ts";
import type { StageKind } from "./flow-stages.ts";
import type { LatencySketch } from "./latency-sketch.ts";
import type { Interval } from "./interval.ts";
import type { NameTable } from "./name-table.ts";
import { apart } from "./request-model.ts";
import type { ResourceView, ServiceResources } from "./resources.ts";

const MAX_CALLEES = 1_000;
const MAX_FLOW_SERVICES = 5_000;
const MAX_FLOW_CALLS = 20_000;
const MAX_FLOW_STAGES = 20_000;
const MAX_STAGES_OF_CALLER = 8;
const MAX_CONTAINERS = 5_000;
const MAX_MISSING = 500;
/** A pod with fewer calls has a p95 of its own making. */
const TELLING_CALLS = 20;
const SECONDS_PER_NS = 1e-9;

export interface WindowSetInput {
  readonly interval: Interval;
  /** Undefined when no span of the interval arrived. Silence is no zero: that nothing was asked of a service somebody must vouch. */
  readonly measured: IntervalAccumulator | undefined;
  /** Requests by which traces began in the interval, by number of the service. */
  readonly began: ReadonlyMap<number, number> | undefined;
  /** Whether a service was ever asked, by its number: of one that was, work is no request. */
  readonly isServing: (service: number) => boolean;
  /** What is known to be missing of a service's requests, by its number, in words. */
  readonly missing: (service: number) => string | undefined;
  /** Time after the interval in which requests could still end to be known. */
  readonly graceSeconds: number;
  readonly services: NameTable;
  readonly pods: NameTable;
  readonly resources: ResourceView;
  /** Namespace of services that the resource view does not know. */
  readonly namespace: string;
  /** Requests of a route that take longer are over its objective; undefined: they are not counted. */
  readonly objectiveSeconds: (route: string) => number | undefined;
  /** Told how many called services a window could not list. */
  readonly onCalleesLeftOut: (count: number) => void;
}

/** The windows and flows of one interval, ordered by name: equal measurements give equal sets. */
export function windowSet(input: WindowSetInput): WindowSet {
  const { interval, measured, services, resources } = input;
  const known = new Map(services.entries());
  const names = new Set(resources.services.keys());
  for (const service of measured?.services.keys() ?? []) names.add(services.nameOf(service));
  /** By number of a service: its place among the names. */
  const places: number[] = [];
  const windows = [...names].sort(byText).map((name, place) => {
    const service = known.get(name);
    if (service !== undefined) places[service] = place;
    return serviceWindow(input, name, service);
  });
  return { startMs: interval.startMs, endMs: interval.endMs, windows, flows: flowWindows(input, places) };
}

/** @param number of the service; undefined when it never sent a span */
function serviceWindow(input: WindowSetInput, service: string, number: number | undefined): Window {
  const { startMs, endMs } = input.interval;
  const resources = input.resources.services.get(service);
  const accumulator = number === undefined ? undefined : input.measured?.services.get(number);
  const sums = number === undefined ? undefined : accumulator && requestsOf(input, accumulator, number);
  const isApart = number !== undefined && sums !== accumulator;
  const began = number === undefined ? undefined : input.began?.get(isApart ? apart(number) : number);
  const missing = number === undefined ? undefined : input.missing(number);
  return {
    namespace: resources?.namespace ?? input.namespace,
    service,
    startMs,
    endMs,
    ...replicas(resources),
    ...(sums !== undefined && traffic(input, sums, began, isApart)),
    ...(missing !== undefined && { missing: missing.slice(0, MAX_MISSING) }),
    callees: accumulator === undefined ? [] : callEdges(input, accumulator),
    containers: countedContainers(input.pods, sums, (resources?.containers ?? []).slice(0, MAX_CONTAINERS)),
  };
}

/** Where the service's requests are summed up: of one that was never asked, where its work is. */
function requestsOf(input: WindowSetInput, sums: ServiceAccumulator, service: number): ServiceAccumulator {
  return sums.hasApart && !input.isServing(service) ? sums.apart : sums;
}

/** Containers on nodes of different classes with the calls of their pods; the others as they are. */
function countedContainers(
  names: NameTable,
  accumulator: ServiceAccumulator | undefined,
  containers: ContainerWindow[],
): ContainerWindow[] {
  const isApart = new Set(containers.map(({ nodeClass }) => nodeClass)).size > 1;
  if (!isApart || accumulator === undefined || accumulator.pods.size === 0) return containers;
  const counts = new Map([...accumulator.pods].map(([pod, { count }]) => [names.nameOf(pod), count]));
  return containers.map((container) => {
    const calls = counts.get(container.podName ?? "");
    return calls === undefined ? container : Object.assign({}, container, { calls });
  });
}

/** What a window says of the replicas of its service. */
export function replicas(resources: ServiceResources | undefined): Partial<Window> {
  if (resources === undefined) return {};
  const { lastStartedAtMs, newestRevisionShare, nodeRoomCores, podsUnscheduled } = resources;
  const { maxReplicas, minReplicas, replicasReady, replicasWanted, revision, scalingPaused } = resources;
  return {
    ...(replicasReady === undefined ? {} : { replicasReady }),
    ...(replicasWanted === undefined ? {} : { replicasWanted }),
    ...(minReplicas === undefined ? {} : { minReplicas }),
    ...(maxReplicas === undefined ? {} : { maxReplicas }),
    ...(scalingPaused === undefined ? {} : { scalingPaused }),
    ...(podsUnscheduled === undefined ? {} : { podsUnscheduled }),
    ...(nodeRoomCores === undefined ? {} : { nodeRoomCores }),
    ...(lastStartedAtMs === undefined ? {} : { lastStartedAtMs }),
    ...(revision === undefined ? {} : { revision }),
    ...(newestRevisionShare === undefined ? {} : { newestRevisionShare }),
  };
}

function traffic(
  input: WindowSetInput,
  accumulator: ServiceAccumulator,
  began: number | undefined,
  isWork: boolean,
): Partial<Window> {
  const requestsPerSecond = accumulator.requests / seconds(input.interval);
  const ownLatency = accumulator.own.summary();
  const responseLatency = accumulator.response.summary();
  // A service can be in an interval for its flows alone, when the request itself was counted before.
  // One that had streams alone may have had any number of requests.
  if (ownLatency === undefined || responseLatency === undefined) return isWork ? {} : { requestsPerSecond };
  return {
    requestsPerSecond,
    errorRatio: Math.min(1, accumulator.errors / accumulator.requests),
    ownLatency,
    ...worstPod(input.pods, accumulator),
    responseLatency,
    inFlight: requestsPerSecond * responseLatency.meanSeconds,
    ownInFlight: requestsPerSecond * ownLatency.meanSeconds,
    unresolvedCallsPerSecond: accumulator.unresolvedCalls / seconds(input.interval),
    ...(began !== undefined &&
      isKnownInTime(input, responseLatency) && { beganPerSecond: began / seconds(input.interval) }),
  };
}

/** The pod with the largest own p95; the first by name of equal ones. */
function worstPod(
  names: NameTable,
  { pods }: ServiceAccumulator,
): Pick<Window, "worstPodOwnLatency"> | undefined {
  let worst: { readonly podName: string; readonly sketch: LatencySketch } | undefined;
  let mostNs = 0;
  for (const [pod, sketch] of pods) {
    if (sketch.count < TELLING_CALLS || sketch.greatestNs < mostNs) continue;
    const tailNs = sketch.quantileNs(0.95);
    if (tailNs < mostNs) continue;
    const podName = names.nameOf(pod);
    if (worst !== undefined && tailNs === mostNs && worst.podName < podName) continue;
    worst = { podName, sketch };
    mostNs = tailNs;
  }
  const latency = worst?.sketch.summary();
  return worst && latency && { worstPodOwnLatency: { podName: worst.podName, latency } };
}

/** Share of an interval whose last requests may be unknown before the others tell nothing of how many began. */
const UNKNOWN_SHARE = 0.2;

/** Requests that take longer than the grace are not known yet when they begin late in the interval. */
function isKnownInTime({ graceSeconds, interval }: WindowSetInput, { p95Seconds }: LatencySummary): boolean {
  return p95Seconds - graceSeconds <= UNKNOWN_SHARE * seconds(interval);
}

function callEdges(input: WindowSetInput, accumulator: ServiceAccumulator): CallEdge[] {
  let edges = [...accumulator.callees];
  if (edges.length > MAX_CALLEES) {
    input.onCalleesLeftOut(edges.length - MAX_CALLEES);
    edges = edges.sort(([, a], [, b]) => b.calls - a.calls).slice(0, MAX_CALLEES);
  }
  return edges
    .map(([service, edge]) => callEdge(input.services.nameOf(service), edge, seconds(input.interval)))
    .sort((a, b) => byText(a.callee, b.callee));
}

function callEdge(callee: string, edge: EdgeAccumulator, intervalSeconds: number): CallEdge {
  const transit =
    edge.measured === 0 ? {} : { transitSeconds: (edge.transitNs / edge.measured) * SECONDS_PER_NS };
  return {
    callee,
    callsPerSecond: edge.calls / intervalSeconds,
    parallelRatio: Math.min(1, edge.parallelCalls / edge.calls),
    ...transit,
  };
}

function flowWindows(input: WindowSetInput, places: readonly number[]): FlowWindow[] {
  const flows: FlowWindow[] = [];
  for (const [service, accumulator] of input.measured?.services ?? []) {
    for (const [flow, flowAccumulator] of requestsOf(input, accumulator, service).flows) {
      const window = flowWindow(input, { flow, entry: service }, flowAccumulator, places);
      if (window !== undefined) flows.push(window);
    }
  }
  return flows.sort((a, b) => byText(a.entryService, b.entryService) || byText(a.flow, b.flow));
}

function flowWindow(
  input: WindowSetInput,
  { flow, entry }: { readonly flow: string; readonly entry: number },
  accumulator: FlowAccumulator,
  places: readonly number[],
): FlowWindow | undefined {
  const latency = accumulator.latency.summary();
  if (latency === undefined) return undefined;
  const services = [...accumulator.services].sort(inOrder(places));
  const requests = requestsReached(accumulator, entry);
  const objectiveSeconds = input.objectiveSeconds(flow);
  return {
    flow,
    entryService: input.services.nameOf(entry),
    requestsPerSecond: accumulator.requests / seconds(input.interval),
    errorRatio: Math.min(1, accumulator.errors / accumulator.requests),
    latency,
    ...(objectiveSeconds !== undefined && {
      overObjectiveRatio: accumulator.latency.shareOver(objectiveSeconds / SECONDS_PER_NS),
    }),
    services: services.slice(0, MAX_FLOW_SERVICES).map((service) => input.services.nameOf(service)),
    calls: flowCalls(input, accumulator, requests, places),
    stages: flowStages(input, accumulator, requests, places),
  };
}

/** Ordered by caller, then callees; the most frequent ones of each caller. */
function flowStages(
  { services }: WindowSetInput,
  { callers }: FlowAccumulator,
  requests: ReadonlyMap<number, number>,
  places: readonly number[],
): FlowStage[] {
  const inPlace = inOrder(places);
  const listed: FlowStage[] = [];
  for (const { kinds, number } of [...callers.values()].sort((a, b) => inPlace(a.number, b.number))) {
    const caller = services.nameOf(number);
    const reached = requests.get(number);
    for (const { each, kind } of mostFrequent(kinds, inPlace)) {
      if (listed.length === MAX_FLOW_STAGES) return listed;
      listed.push({
        caller,
        perRequest: kind.stages / (reached ?? kind.stages),
        steps: Math.max(1, kind.steps / kind.stages),
        calls: each.map((index) => ({
          callee: services.nameOf(kind.edges[index]?.callee ?? 0),
          calls: (kind.calls[index] ?? 0) / kind.stages,
        })),
      });
    }
  }
  return listed;
}

/** The most frequent kinds of stages of one caller, in the order of their callees; with places of the callees in that order. */
function mostFrequent(
  kinds: readonly StageKind[],
  inPlace: (a: number, b: number) => number,
): { readonly kind: StageKind; readonly each: readonly number[] }[] {
  const most =
    kinds.length <= MAX_STAGES_OF_CALLER
      ? kinds
      : kinds.toSorted((a, b) => b.stages - a.stages).slice(0, MAX_STAGES_OF_CALLER);
  const calleeOf = (kind: StageKind, index = 0): number => kind.edges[index]?.callee ?? 0;
  const ordered = most.map((kind) => {
    const each = kind.edges.map((_, index) => index);
    return { kind, each: each.sort((a, b) => inPlace(calleeOf(kind, a), calleeOf(kind, b))) };
  });
  return ordered.sort((a, b) => {
    for (const [rank, index] of a.each.entries()) {
      const other = b.each[rank];
      if (other === undefined) return 1;
      const order = inPlace(calleeOf(a.kind, index), calleeOf(b.kind, other));
      if (order !== 0) return order;
    }
    return a.each.length - b.each.length;
  });
}

/** Ordered by caller, then callee. */
function flowCalls(
  { services, onCalleesLeftOut }: WindowSetInput,
  accumulator: FlowAccumulator,
  requests: ReadonlyMap<number, number>,
  places: readonly number[],
): FlowCall[] {
  const place = (service: number): number => places[service] ?? 0;
  let edges = [...accumulator.calls];
  if (edges.length > MAX_FLOW_CALLS) {
    onCalleesLeftOut(edges.length - MAX_FLOW_CALLS);
    edges = edges.sort((a, b) => b.calls - a.calls).slice(0, MAX_FLOW_CALLS);
  }
  edges.sort((a, b) => place(a.caller) - place(b.caller) || place(a.callee) - place(b.callee));
  return edges.map(({ caller, callee, calls, parallelCalls }) => ({
    caller: services.nameOf(caller),
    callee: services.nameOf(callee),
    callsPerRequest: calls / (requests.get(caller) ?? calls),
    parallelRatio: Math.min(1, parallelCalls / calls),
  }));
}

/** Requests of the flow that reached each service: every call that was waited for is one, and the first ones at the entry. */
function requestsReached({ calls, requests }: FlowAccumulator, entry: number): ReadonlyMap<number, number> {
  const reached = new Map([[entry, requests]]);
  for (const edge of calls) reached.set(edge.callee, (reached.get(edge.callee) ?? 0) + edge.calls);
  return reached;
}

/** Compares services by number as their names compare. */
function inOrder(places: readonly number[]): (a: number, b: number) => number {
  return (a, b) => (places[a] ?? 0) - (places[b] ?? 0);
}

const seconds = ({ startMs, endMs }: Interval): number => (endMs - startMs) / 1e3;
const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
