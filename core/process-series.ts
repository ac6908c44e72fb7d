/** What a process says of its own cost, by the names that Prometheus clients agree on. */
export interface ProcessSeries {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  readonly read: () => number;
}

export const PROCESS_SERIES: readonly ProcessSeries[] = [
  {
    name: "process_cpu_seconds_total",
    help: "CPU time of this process, user and system.",
    kind: "counter",
    read: () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    },
  },
  {
    name: "process_resident_memory_bytes",
    help: "Resident memory of this process.",
    kind: "gauge",
    read: () => process.memoryUsage.rss(),
  },
  {
    name: "process_start_time_seconds",
    help: "When this process started, seconds since the epoch.",
    kind: "gauge",
    read: () => Math.round(Date.now() / 1e3 - process.uptime()),
  },
];
