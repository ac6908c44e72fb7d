import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import { registerProcessSeries } from "@tradewind/core/process/process-series.ts";
import { LoopDelay } from "../keda/loop-delay.ts";
import type { ScalerReport } from "../keda/messages.ts";

/** The exporter's own cost. @returns what stops the measuring */
export function registerProcess(registry: Registry, scaler: () => ScalerReport): () => void {
  const loop = new LoopDelay();
  registerProcessSeries(registry, { Counter, Gauge });
  registerReadMetrics(registry, { Counter, Gauge }, [
    {
      kind: "gauge",
      name: "tradewind_exporter_event_loop_delay_seconds",
      help: "99th percentile of an event loop's delay since the last scrape; 'grpc' is the thread that answers KEDA.",
      labelNames: ["thread"],
      *read() {
        const delays = { grpc: scaler().loopDelaySeconds, main: loop.takeSeconds() };
        for (const [thread, seconds] of Object.entries(delays))
          if (seconds !== undefined) yield [{ thread }, seconds];
      },
    },
    {
      kind: "gauge",
      name: "tradewind_keda_streams",
      help: "Streams that KEDA holds open for external-push triggers.",
      read: () => scaler().openStreams,
    },
  ]);
  return () => loop.stop();
}
