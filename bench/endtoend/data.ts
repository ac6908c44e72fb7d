import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { median } from "@tradewind/predictor/profile/order-statistics.ts";
import { endToEndRows } from "@tradewind/predictor/training/end-to-end-rows.ts";
import type { EndToEndRow } from "@tradewind/predictor/training/end-to-end-rows.ts";

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
  readonly flow: string;
  readonly services: readonly string[];
  readonly points: readonly Point[];
}

/** One row as every method gets it. */
export interface Row extends EndToEndRow {
  /** Configuration, load and interference of every service; with measured own tails where those are given. */
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

const mean = (values: readonly (number | undefined)[]): number => {
  const known = values.filter((value) => value !== undefined);
  return known.reduce((sum, value) => sum + value, 0) / Math.max(1, known.length);
};

/** What is set and borne by one service, as numbers. */
function columnsOf(window: Window | undefined): number[] {
  const containers = window?.containers ?? [];
  const replicas = Math.max(1, window?.replicasReady ?? containers.length);
  const load = (window?.requestsPerSecond ?? 0) / replicas;
  const cores = mean(
    containers.map(({ cpuLimitCores, cpuRequestCores }) => cpuLimitCores ?? cpuRequestCores),
  );
  const used = mean(containers.map(({ cpuUsageCores }) => cpuUsageCores));
  return [
    replicas,
    cores,
    mean(containers.map(({ memoryLimitBytes }) => memoryLimitBytes)) / 1e9,
    load,
    cores > 0 ? used / cores : 0,
    mean(containers.map(({ interference }) => interference?.cpu.value)),
    mean(containers.map(({ interference }) => interference?.memoryBandwidth.value)),
  ];
}

function rowOf({ flow, services }: FlowData, { set }: Point, withOwnTails: boolean): Row | undefined {
  const [row] = endToEndRows([set], flow, services, 0.95);
  if (row === undefined) return undefined;
  const windows = new Map(set.windows.map((window) => [window.service, window]));
  const configuration = services.flatMap((service) => columnsOf(windows.get(service)));
  const tails = [...row.ownTails].map((tail) => Math.log(Number.isNaN(tail) ? 1e-4 : tail));
  return { ...row, columns: withOwnTails ? [...configuration, ...tails] : configuration };
}

export const SPLITS = ["configuration", "time"] as const;
export type SplitName = (typeof SPLITS)[number];

/** For each point whether it is held out. */
export function heldOut({ points }: FlowData, split: SplitName): boolean[] {
  if (split === "time") {
    const cut = Math.floor((1 - TEST_SHARE_IN_TIME) * points.length);
    return points.map((_, at) => at >= cut);
  }
  const settings = [...new Set(points.map(({ setting }) => setting))].sort();
  return points.map(({ setting }) => settings.indexOf(setting) % SETTINGS_LEFT_OUT === 1);
}

/** The rows of one split; points that give no row are left out. */
export function splitOf(data: FlowData, name: SplitName, withOwnTails: boolean): Split {
  const isTest = heldOut(data, name);
  const rows = data.points.flatMap((point, at) => {
    const row = rowOf(data, point, withOwnTails);
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
