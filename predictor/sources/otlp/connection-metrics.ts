import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import type { ConnectionCounts } from "@tradewind/core/net/connection-limits.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Transport } from "./metrics.ts";

/** What the receivers' limits on connections do; the limits count, and are read at each scrape. */
export class ConnectionMetrics {
  private readonly ports = new Map<Transport, () => ConnectionCounts>();

  constructor(registry: Registry) {
    const { ports } = this;
    registerReadMetrics(registry, { Counter, Gauge }, [
      {
        kind: "gauge",
        name: "tradewind_predictor_otlp_connections",
        help: "Connections of OTLP senders.",
        labelNames: ["transport"],
        read: () => Array.from(ports, ([transport, counts]) => [{ transport }, counts().held]),
      },
      {
        kind: "counter",
        name: "tradewind_predictor_otlp_connections_closed_total",
        help: "Connections of OTLP senders closed by a limit: refused, evicted for a new one, or silent from the start.",
        labelNames: ["transport", "reason"],
        read: () =>
          [...ports].flatMap(([transport, counts]) =>
            (["refused", "evicted", "silent"] as const).map(
              (reason) => [{ transport, reason }, counts()[reason]] as const,
            ),
          ),
      },
    ]);
  }

  follow(transport: Transport, counts: () => ConnectionCounts): void {
    this.ports.set(transport, counts);
  }
}
