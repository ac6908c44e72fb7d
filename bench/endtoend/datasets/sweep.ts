import { readFileSync } from "node:fs";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { SweepRow } from "@tradewind/core/contract/sweep.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import type { FlowData, Point } from "../data.ts";

const FLOW = "entry";

function settingOf({ configuration, window }: SweepRow): string {
  const { replicas, cpuCores, memoryBytes, interference } = configuration;
  return [window.service, replicas, cpuCores, memoryBytes ?? "-", interference].join(" ");
}

/** The service that nobody calls and that was called most. */
function entryOf(windows: readonly Window[]): string | undefined {
  const called = new Set(windows.flatMap(({ callees }) => callees.map(({ callee }) => callee)));
  const roots = windows.filter(({ service, responseLatency }) => !called.has(service) && responseLatency);
  roots.sort((a, b) => (b.responseLatency?.count ?? 0) - (a.responseLatency?.count ?? 0));
  return roots[0]?.service;
}

/** The lines of one moment as one interval; the entry's response latency is the flow's. */
function pointOf(rows: readonly SweepRow[], entry: string): Point | undefined {
  const windows = rows.map(({ window }) => window);
  const root = windows.find(({ service }) => service === entry);
  if (root?.responseLatency === undefined || rows.some(({ settled }) => !settled)) return undefined;
  const { startMs, endMs } = root;
  const flow = {
    flow: FLOW,
    entryService: entry,
    requestsPerSecond: root.requestsPerSecond ?? 0,
    errorRatio: root.errorRatio ?? 0,
    latency: root.responseLatency,
    services: windows.map(({ service }) => service),
  };
  return {
    set: { startMs, endMs, windows, flows: [flow] },
    setting: rows.map(settingOf).sort().join("; "),
  };
}

/** The profiling sweep of the local platform (JSON lines of `SweepRow`). */
export function sweepData(path: string): FlowData {
  const moments = new Map<number, SweepRow[]>();
  for (const [i, line] of readFileSync(path, "utf8").split("\n").entries()) {
    if (line.trim() === "") continue;
    const row = parseJsonWith(SweepRow, line, `${path} line ${i + 1}`);
    const rows = moments.get(row.window.endMs) ?? [];
    moments.set(row.window.endMs, rows);
    rows.push(row);
  }
  const inTime = [...moments].sort(([a], [b]) => a - b).map(([, rows]) => rows);
  const entry = entryOf(inTime.flat().map(({ window }) => window));
  const points = inTime.flatMap((rows) => {
    const point = entry === undefined ? undefined : pointOf(rows, entry);
    return point === undefined ? [] : [point];
  });
  return {
    name: "platform-sweep",
    notes:
      "local platform, real processes; tail = response p95 of the entry service; left out: moments still settling or without an entry",
    services: [...new Set(points.flatMap(({ set }) => set.windows.map(({ service }) => service)))].sort(),
    points,
  };
}
