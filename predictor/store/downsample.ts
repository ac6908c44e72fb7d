import type { Interference } from "@tradewind/core/contract/interference.ts";
import { INTERFERENCE_COMPONENTS } from "@tradewind/core/contract/interference.ts";
import type { CallEdge, ContainerWindow, FlowWindow, Window } from "@tradewind/core/contract/window.ts";
import { mergeLatency } from "../window/merge-latency.ts";
import type { StoredFlow } from "./window-store.ts";
import { weightedMean } from "../window/weighted-mean.ts";

/**
 * One window for several of the same service, over [startMs, endMs). Rates and use are means over the windows that knew
 * them; latencies are weighted by their number of calls; the mean of percentiles lies between the smallest and the
 * largest, it is not the percentile of all calls. What no window knew stays absent. Windows rise by start, at least one.
 */
export function mergeWindows(windows: readonly Window[], startMs: number, endMs: number): Window | undefined {
  const last = windows.at(-1);
  if (last === undefined) return undefined;
  const requestsPerSecond = mean(windows, (window) => window.requestsPerSecond);
  const calls = (window: Window): number => window.requestsPerSecond ?? 0;
  const errorRatio = weightedMean(windows, (window) => window.errorRatio, calls);
  const latest = <Key extends keyof Window>(key: Key): Window[Key] | undefined =>
    windows.findLast((window) => window[key] !== undefined)?.[key];
  return withoutAbsent<Window>({
    namespace: last.namespace,
    service: last.service,
    startMs,
    endMs,
    replicasReady: latest("replicasReady"),
    replicasWanted: latest("replicasWanted"),
    podsUnscheduled: latest("podsUnscheduled"),
    nodeRoomCores: latest("nodeRoomCores"),
    lastStartedAtMs: latest("lastStartedAtMs"),
    revision: latest("revision"),
    newestRevisionShare: latest("newestRevisionShare"),
    requestsPerSecond,
    beganPerSecond: mean(windows, (window) => window.beganPerSecond),
    errorRatio,
    ownLatency: mergeLatency(windows.map((window) => window.ownLatency)),
    ownLatencyDerived: latest("ownLatencyDerived"),
    responseLatency: mergeLatency(windows.map((window) => window.responseLatency)),
    inFlight: mean(windows, (window) => window.inFlight),
    ownInFlight: mean(windows, (window) => window.ownInFlight),
    callees: mergeCallees(windows),
    unresolvedCallsPerSecond: mean(windows, (window) => window.unresolvedCallsPerSecond),
    missing: latest("missing"),
    containers: mergeContainers(windows),
  });
}

/**
 * As {@link mergeWindows} for windows of one flow. It has none in which nobody asked for it: those count as without requests, so that there are
 * as many in all as there were.
 */
export function mergeFlows(
  flows: readonly StoredFlow[],
  startMs: number,
  endMs: number,
): FlowWindow | undefined {
  const last = flows.at(-1);
  const latency = mergeLatency(flows.map((flow) => flow.latency));
  if (last === undefined || latency === undefined) return undefined;
  const lengthMs = (flow: StoredFlow): number => flow.endMs - flow.startMs;
  const coveredMs = flows.reduce((total, flow) => total + lengthMs(flow), 0);
  const requests = flows.reduce((total, flow) => total + flow.requestsPerSecond * lengthMs(flow), 0);
  return {
    flow: last.flow,
    entryService: last.entryService,
    requestsPerSecond: requests / Math.max(endMs - startMs, coveredMs),
    errorRatio:
      weightedMean(
        flows,
        (flow) => flow.errorRatio,
        (flow) => flow.requestsPerSecond,
      ) ?? 0,
    ...(flows.every(({ overObjectiveRatio }) => overObjectiveRatio !== undefined) && {
      overObjectiveRatio: weightedMean(
        flows,
        (flow) => flow.overObjectiveRatio,
        (flow) => flow.latency.count,
      ),
    }),
    latency,
    services: [...new Set(flows.flatMap((flow) => flow.services))].slice(0, 5_000),
  };
}

function mergeCallees(windows: readonly Window[]): CallEdge[] {
  const measured = windows.filter(({ requestsPerSecond }) => requestsPerSecond !== undefined).length;
  const edges = new Map<string, CallEdge[]>();
  for (const edge of windows.flatMap(({ callees }) => callees)) {
    edges.set(edge.callee, [...(edges.get(edge.callee) ?? []), edge]);
  }
  const byCalls = (edge: CallEdge): number => edge.callsPerSecond;
  return [...edges].slice(0, 1_000).map(([callee, members]) =>
    withoutAbsent<CallEdge>({
      callee,
      // A window without this edge had no such calls: it counts as 0.
      callsPerSecond:
        members.reduce((sum, edge) => sum + edge.callsPerSecond, 0) / Math.max(measured, members.length),
      parallelRatio: weightedMean(members, (edge) => edge.parallelRatio, byCalls) ?? 0,
      transitSeconds: weightedMean(members, (edge) => edge.transitSeconds, byCalls),
    }),
  );
}

function mergeContainers(windows: readonly Window[]): ContainerWindow[] {
  const byId = new Map<string, ContainerWindow[]>();
  for (const container of windows.flatMap(({ containers }) => containers)) {
    byId.set(container.id, [...(byId.get(container.id) ?? []), container]);
  }
  return [...byId.values()].slice(0, 5_000).flatMap((members) => {
    const last = members.at(-1);
    if (last === undefined) return [];
    const interference = mergeInterference(members.map((member) => member.interference));
    return [
      withoutAbsent<ContainerWindow>({
        ...last,
        cpuUsageCores: mean(members, (member) => member.cpuUsageCores),
        cpuThrottledRatio: mean(members, (member) => member.cpuThrottledRatio),
        memoryWorkingSetBytes: mean(members, (member) => member.memoryWorkingSetBytes),
        diskBytesPerSecond: mean(members, (member) => member.diskBytesPerSecond),
        oomKills: sum(members.map((member) => member.oomKills)),
        interference,
      }),
    ];
  });
}

function mergeInterference(vectors: readonly (Interference | undefined)[]): Interference | undefined {
  const known = vectors.filter((vector) => vector !== undefined);
  const last = known.at(-1);
  if (last === undefined) return undefined;
  const merged = INTERFERENCE_COMPONENTS.map((name) => {
    const value = mean(known, (vector) => vector[name].value);
    const { source } = last[name];
    if (value === undefined) return [name, last[name]] as const;
    return [
      name,
      source === undefined ? { supported: true, value } : { supported: true, value, source },
    ] as const;
  });
  return Object.fromEntries(merged) as Interference;
}

function mean<Item>(items: readonly Item[], value: (item: Item) => number | undefined): number | undefined {
  return weightedMean(items, value, () => 1);
}

function withoutAbsent<Type>(fields: { [Key in keyof Type]: Type[Key] | undefined }): Type {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Type;
}

/** Undefined when none is known. */
function sum(counts: readonly (number | undefined)[]): number | undefined {
  const known = counts.filter((count) => count !== undefined);
  return known.length === 0 ? undefined : known.reduce((total, count) => total + count, 0);
}
