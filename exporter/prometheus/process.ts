import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { LoopDelay } from "../keda/loop-delay.ts";
import type { ScalerReport } from "../keda/messages.ts";

/** The exporter's own cost. @returns what stops the measuring */
export function registerProcess(registry: Registry, scaler: () => ScalerReport): () => void {
  const loop = new LoopDelay();
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
      help: "99th percentile of an event loop's delay since the last scrape; 'grpc' is the thread that answers KEDA.",
      labelNames: ["thread"],
      registers: [],
      collect() {
        this.reset();
        const delays = { grpc: scaler().loopDelaySeconds, main: loop.takeSeconds() };
        for (const [thread, seconds] of Object.entries(delays)) {
          if (seconds !== undefined) this.set({ thread }, seconds);
        }
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: "tradewind_keda_streams",
      help: "Streams that KEDA holds open for external-push triggers.",
      registers: [],
      collect() {
        this.set(scaler().openStreams);
      },
    }),
  );
  return () => loop.stop();
}
