import type { Registry } from "prom-client";
import { registerReadMetrics } from "./read-series.ts";
import type { Prometheus } from "./read-series.ts";

/** Adds what this process costs to a registry, by the names that Prometheus clients agree on; read at each scrape. */
export function registerProcessSeries(registry: Registry, prometheus: Prometheus): void {
  const startSeconds = Math.round(Date.now() / 1e3 - process.uptime());
  registerReadMetrics(registry, prometheus, [
    {
      kind: "counter",
      name: "process_cpu_seconds_total",
      help: "CPU time of this process, user and system.",
      read: () => {
        const { system, user } = process.cpuUsage();
        return (user + system) / 1e6;
      },
    },
    {
      kind: "gauge",
      name: "process_resident_memory_bytes",
      help: "Resident memory of this process.",
      read: () => process.memoryUsage.rss(),
    },
    {
      kind: "gauge",
      name: "process_start_time_seconds",
      help: "When this process started, seconds since the epoch.",
      read: () => startSeconds,
    },
  ]);
}
