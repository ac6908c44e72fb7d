import type { ConnectionCounts } from "@tradewind/core/net/connection-limits.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Transport } from "./metrics.ts";

/** What the receivers' limits on connections do; the limits count, and are read at each scrape. */
export class ConnectionMetrics {
  private readonly ports = new Map<Transport, () => ConnectionCounts>();

  constructor(registry: Registry) {
    const { ports } = this;
    const registers = [registry];
    const held = new Gauge({
      name: "tradewind_predictor_otlp_connections",
      help: "Connections of OTLP senders.",
      labelNames: ["transport"],
      registers,
      collect() {
        for (const [transport, counts] of ports) this.set({ transport }, counts().held);
      },
    });
    const closed = new Counter({
      name: "tradewind_predictor_otlp_connections_closed_total",
      help: "Connections of OTLP senders closed by a limit: refused, evicted for a new one, or silent from the start.",
      labelNames: ["transport", "reason"],
      registers,
      collect() {
        this.reset();
        for (const [transport, counts] of ports) {
          const { evicted, refused, silent } = counts();
          this.inc({ transport, reason: "refused" }, refused);
          this.inc({ transport, reason: "evicted" }, evicted);
          this.inc({ transport, reason: "silent" }, silent);
        }
      },
    });
    held.reset();
    closed.reset();
  }

  follow(transport: Transport, counts: () => ConnectionCounts): void {
    this.ports.set(transport, counts);
  }
}
