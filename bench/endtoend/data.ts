import { meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { compileFlow, serviceIndex } from "@tradewind/predictor/models/route/call-graph.ts";
import { FlowTail } from "@tradewind/predictor/models/route/flow-tail.ts";
import { EXPONENTIAL_MEAN_OVER_TAIL } from "@tradewind/predictor/models/route/lognormal.ts";
import { median } from "@tradewind/core/values/statistics.ts";

/** One interval of one flow in a known setting. */
export interface Point {
  readonly set: WindowSet;
  /** Replicas, allocations and interference of all services: what a split by configuration leaves out whole. */
  readonly setting: string;
}

/** Intervals of one flow, oldest first. */
export interface FlowData {
  readonly name: string;
  readonly notes: string;
  readonly services: readonly string[];
  readonly points: readonly Point[];
}

/** One row as every method gets it. */
export interface Row {
  /** What the call graph makes of the measured own tails, seconds. */
  readonly composedSeconds: number;
  /** What was measured, seconds. */
  readonly tailSeconds: number;
  /** Configuration, load and interference of every service, and its measured own tail. */
  readonly columns: readonly number[];
}

export interface Split {
  readonly name: SplitName;
  readonly train: readonly Row[];
  readonly test: readonly Row[];
  /** Tails from here on are past the knee: twice the median of the calmer half by load. */
  readonly kneeSeconds: number;
}

const TEST_SHARE_IN_TIME = 0.3;
/** One setting in so many is left out. */
const SETTINGS_LEFT_OUT = 4;

const meanOfSome = (values: readonly (number | undefined)[]): number => meanOfKnown(values) ?? 0;

/** What is set and borne by one service, as numbers. */
function columnsOf(window: Window | undefined): number[] {
  const containers = window?.containers ?? [];
  const replicas = Math.max(1, window?.replicasReady ?? containers.length);
  const load = (window?.requestsPerSecond ?? 0) / replicas;
  const cores = meanOfSome(
    containers.map(({ cpuLimitCores, cpuRequestCores }) => cpuLimitCores ?? cpuRequestCores),
  );
  const used = meanOfSome(containers.map(({ cpuUsageCores }) => cpuUsageCores));
  return [
    replicas,
    cores,
    meanOfSome(containers.map(({ memoryLimitBytes }) => memoryLimitBytes)) / 1e9,
    load,
    cores > 0 ? used / cores : 0,
    meanOfSome(containers.map(({ interference }) => interference?.cpu.value)),
    meanOfSome(containers.map(({ interference }) => interference?.memoryBandwidth.value)),
  ];
}

/** Mean over p95 of a self time; that of an exponential one where nothing was measured. */
export const meanOverTail = ({ ownLatency }: Window): number =>
  ownLatency !== undefined && ownLatency.p95Seconds > 0
    ? ownLatency.meanSeconds / ownLatency.p95Seconds
    : EXPONENTIAL_MEAN_OVER_TAIL;

/** Flows with fewer requests than this in a window have no tail to speak of. */
const LEAST_REQUESTS = 20;

function rowOf({ services }: FlowData, { set }: Point): Row | undefined {
  const [flow] = set.flows;
  const index = serviceIndex(services);
  const graph = flow && compileFlow(flow, set, index);
  if (graph === undefined || flow === undefined || flow.latency.count < LEAST_REQUESTS) return undefined;
  const windows = new Map(set.windows.map((window) => [window.service, window]));
  const own = Float64Array.from(services, (service) => windows.get(service)?.ownLatency?.p95Seconds ?? 0);
  const shares = Float64Array.from(services, (service) => {
    const window = windows.get(service);
    return window === undefined ? EXPONENTIAL_MEAN_OVER_TAIL : meanOverTail(window);
  });
  const composedSeconds = new FlowTail(graph, own, shares).tailSeconds;
  const tailSeconds = flow.latency.p95Seconds;
  if (!(composedSeconds > 0) || !(tailSeconds > 0)) return undefined;
  const columns = services.flatMap((service) => columnsOf(windows.get(service)));
  return {
    composedSeconds,
    tailSeconds,
    columns: [...columns, ...[...own].map((tail) => Math.log(tail || 1e-4))],
  };
}

export const SPLITS = ["configuration", "time"] as const;
type SplitName = (typeof SPLITS)[number];

/** For each point whether it is held out. */
function heldOut({ points }: FlowData, split: SplitName): boolean[] {
  if (split === "time") {
    const cut = Math.floor((1 - TEST_SHARE_IN_TIME) * points.length);
    return points.map((_, at) => at >= cut);
  }
  const settings = [...new Set(points.map(({ setting }) => setting))].sort();
  return points.map(({ setting }) => settings.indexOf(setting) % SETTINGS_LEFT_OUT === 1);
}

/** The rows of one split; points that give no row are left out. */
export function splitOf(data: FlowData, name: SplitName): Split {
  const isTest = heldOut(data, name);
  const rows = data.points.flatMap((point, at) => {
    const row = rowOf(data, point);
    return row === undefined ? [] : [{ row, point, test: isTest[at] === true }];
  });
  const loadOf = ({ set }: Point): number => set.flows[0]?.requestsPerSecond ?? 0;
  const middle = median(rows.map(({ point }) => loadOf(point)));
  const calm = rows.filter(({ point }) => loadOf(point) <= middle);
  return {
    name,
    train: rows.flatMap(({ row, test }) => (test ? [] : [row])),
    test: rows.flatMap(({ row, test }) => (test ? [row] : [])),
    kneeSeconds: 2 * median(calm.map(({ row }) => row.tailSeconds)),
  };
}
