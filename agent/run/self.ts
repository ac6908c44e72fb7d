import type { TlsObserver } from "@tradewind/core/net/reloading-tls.ts";
import { TLS_EXPIRY, TLS_RELOADS } from "@tradewind/core/net/tls-series.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { Table } from "../expose/table.ts";

const counter = (name: string, help: string) =>
  ({ name: `tradewind_agent_${name}`, help, kind: "counter" }) as const;
const gauge = (name: string, help: string) =>
  ({ name: `tradewind_agent_${name}`, help, kind: "gauge" }) as const;

const DEFINITIONS = {
  startSeconds: gauge("start_timestamp_seconds", "Unix time at which the agent started."),
  cpuSeconds: counter("cpu_seconds_total", "CPU time the agent itself used."),
  residentBytes: gauge("resident_memory_bytes", "Resident memory of the agent."),
  openFiles: gauge("open_files", "Kernel files the agent holds open."),
  reads: counter("file_reads_total", "Kernel files read."),
  samples: counter("samples_total", "Signals sampled."),
  sampleFailures: counter(
    "sample_failures_total",
    "Samples that failed, sources this node does not have included.",
  ),
  slowSamples: counter(
    "slow_samples_total",
    "Samples that took more than 50 ms: the kernel stalled a read, or the agent waited for a CPU.",
  ),
  signals: gauge("signals", "Signals being sampled."),
  plannedCost: gauge("planned_cost_ratio", "CPU seconds per second the sampling plan asks for."),
  costBudget: gauge("cost_budget_ratio", "CPU seconds per second the sampling plan is held to."),
  stretchedSignals: gauge("stretched_signals", "Signals read less often than wanted to keep to the budget."),
  containers: gauge("containers", "Containers being sampled."),
  containersShared: gauge(
    "containers_shared",
    "Containers that share a sandbox with others; their own use is not known.",
  ),
  cgroupRoots: gauge("cgroup_roots", "Cgroups that hold pods, found or asked for."),
  containersRemoved: counter("containers_removed_total", "Containers that ended."),
  containerFailures: counter(
    "container_read_failures_total",
    "Failed reads of containers that are still there.",
  ),
  scans: counter("discovery_scans_total", "Searches for containers."),
  watchedDirectories: gauge(
    "watched_directories",
    "Cgroup directories watched for new and removed containers.",
  ),
  requestsRefused: counter(
    "requests_refused_total",
    "Requests refused because their sender had kept more of a core busy than its share.",
  ),
  nameFailures: counter("name_source_failures_total", "Failed reads of a source of container names."),
} as const;
type SelfColumn = keyof typeof DEFINITIONS;

const NAMES = Object.keys(DEFINITIONS) as SelfColumn[];

/** What the agent tells of itself. */
export class SelfMetrics implements TlsObserver {
  readonly table = new Table(NAMES.map((name) => DEFINITIONS[name]));
  readonly buildTable = new Table([
    {
      name: "tradewind_agent_build_info",
      help: "Always 1; version of the agent and of the Node.js it runs on.",
      kind: "gauge",
    },
  ]);
  /** Without rows while the agent speaks no TLS. */
  readonly tlsTables = [
    new Table([{ ...TLS_RELOADS, kind: "counter" }]),
    new Table([{ ...TLS_EXPIRY, kind: "gauge" }]),
  ] as const;
  readonly #values = this.table.row("").values;
  #refused = 0;

  constructor() {
    this.buildTable.row("", { version: VERSION, nodeversion: process.version }).values[0] = 1;
    this.set({ requestsRefused: 0 });
  }

  tlsReloaded(result: "changed" | "failed", expiresAtMs: number | undefined): void {
    const [reloads, expiry] = this.tlsTables;
    const { values } = reloads.row(result, { port: "http", result });
    values[0] = (values[0] || 0) + 1;
    if (expiresAtMs !== undefined) expiry.row("", { port: "http" }).values[0] = expiresAtMs / 1e3;
  }

  requestRefused(): void {
    this.#refused += 1;
    this.set({ requestsRefused: this.#refused });
  }

  set(values: Readonly<Partial<Record<SelfColumn, number>>>): void {
    for (const [index, name] of NAMES.entries()) {
      const value = values[name];
      if (value !== undefined) this.#values[index] = value;
    }
  }
}
