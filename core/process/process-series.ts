import type { Counter, Gauge, Registry } from "prom-client";

/** The metric types of prom-client, given by those who load it: the agent lives without. */
interface Prometheus {
  readonly Counter: typeof Counter;
  readonly Gauge: typeof Gauge;
}

/** Adds what this process costs to a registry, by the names that Prometheus clients agree on; read at each scrape. */
export function registerProcessSeries(registry: Registry, { Counter, Gauge }: Prometheus): void {
  const registers = [registry];
  const cpu = new Counter({
    name: "process_cpu_seconds_total",
    help: "CPU time of this process, user and system.",
    registers,
    collect: (): void => {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1e6);
    },
  });
  const memory = new Gauge({
    name: "process_resident_memory_bytes",
    help: "Resident memory of this process.",
    registers,
    collect: (): void => memory.set(process.memoryUsage.rss()),
  });
  const start = new Gauge({
    name: "process_start_time_seconds",
    help: "When this process started, seconds since the epoch.",
    registers,
  });
  start.set(Math.round(Date.now() / 1e3 - process.uptime()));
}
