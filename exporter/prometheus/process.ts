import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** The exporter's own cost. @returns what stops the measuring */
export function registerProcess(registry: Registry, openStreams: () => number): () => void {
  const loop = monitorEventLoopDelay({ resolution: 20 });
  loop.enable();
  registry.registerMetric(
    new Counter({
      name: "process_cpu_seconds_total",
      help: "CPU time of this process, user and system.",
      registers: [],
      collect() {
        const { user, system } = process.cpuUsage();
        this.reset();
        this.inc((user + system) / 1e6);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: "process_resident_memory_bytes",
      help: "Resident memory of this process.",
      registers: [],
      collect() {
        this.set(process.memoryUsage.rss());
      },
    }),
  );
  const startTime = new Gauge({
    name: "process_start_time_seconds",
    help: "When this process started, seconds since the epoch.",
    registers: [registry],
  });
  startTime.set(Math.round(Date.now() / 1e3 - process.uptime()));
  registry.registerMetric(
    new Gauge({
      name: "tradewind_exporter_event_loop_delay_seconds",
      help: "99th percentile of the event loop's delay since the last scrape.",
      registers: [],
      collect() {
        const nanos = loop.percentile(99);
        loop.reset();
        if (Number.isFinite(nanos)) this.set(nanos / 1e9);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: "tradewind_keda_streams",
      help: "Streams that KEDA holds open for external-push triggers.",
      registers: [],
      collect() {
        this.set(openStreams());
      },
    }),
  );
  return () => loop.disable();
}
