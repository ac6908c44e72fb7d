import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";

/** Columns of the CSV form: a window's own numbers, and its containers summed up. Empty means not measured. */
export const CSV_COLUMNS = [
  "start",
  "end",
  "namespace",
  "service",
  "replicasReady",
  "replicasWanted",
  "requestsPerSecond",
  "errorRatio",
  "responseMeanSeconds",
  "responseP50Seconds",
  "responseP95Seconds",
  "responseP99Seconds",
  "ownMeanSeconds",
  "ownP50Seconds",
  "ownP95Seconds",
  "ownP99Seconds",
  "ownLatencyDerived",
  "inFlight",
  "ownInFlight",
  "containers",
  "cpuUsageCores",
  "cpuLimitCores",
  "memoryWorkingSetBytes",
  "memoryLimitBytes",
  "beganPerSecond",
] as const;

/** One line of CSV (RFC 4180), without its line end. */
export function csvRow(window: Window): string {
  const { responseLatency: response, ownLatency: own, containers } = window;
  const cells: (string | number | boolean | undefined)[] = [
    new Date(window.startMs).toISOString(),
    new Date(window.endMs).toISOString(),
    window.namespace,
    window.service,
    window.replicasReady,
    window.replicasWanted,
    window.requestsPerSecond,
    window.errorRatio,
    response?.meanSeconds,
    response?.p50Seconds,
    response?.p95Seconds,
    response?.p99Seconds,
    own?.meanSeconds,
    own?.p50Seconds,
    own?.p95Seconds,
    own?.p99Seconds,
    own === undefined ? undefined : (window.ownLatencyDerived ?? false),
    window.inFlight,
    window.ownInFlight,
    containers.length,
    sum(containers, ({ cpuUsageCores }) => cpuUsageCores),
    sum(containers, ({ cpuLimitCores }) => cpuLimitCores),
    sum(containers, ({ memoryWorkingSetBytes }) => memoryWorkingSetBytes),
    sum(containers, ({ memoryLimitBytes }) => memoryLimitBytes),
    window.beganPerSecond,
  ];
  return cells.map(csvCell).join(",");
}

function csvCell(value: string | number | boolean | undefined): string {
  if (value === undefined) return "";
  // A leading = + - @ would be run as a formula by a spreadsheet.
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Undefined unless every container tells: a sum over some would pass for the whole. */
function sum(
  containers: readonly ContainerWindow[],
  of: (container: ContainerWindow) => number | undefined,
): number | undefined {
  if (containers.length === 0) return undefined;
  let total = 0;
  for (const container of containers) {
    const value = of(container);
    if (value === undefined) return undefined;
    total += value;
  }
  return total;
}
