import type { ConnectionCounts } from "@tradewind/core/connection-limits.ts";
import type { TlsObserver } from "@tradewind/core/reloading-tls.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import type { Transport } from "./metrics.ts";

/** What the receivers' limits on connections and their certificates do; the limits count, and are read at each scrape. */
export class ConnectionMetrics implements TlsObserver {
  private readonly ports = new Map<Transport, () => ConnectionCounts>();
  private readonly reloads: Counter;
  private readonly expiry: Gauge;

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
    this.reloads = new Counter({
      name: "tradewind_predictor_otlp_tls_reloads_total",
      help: "Reads of changed certificate files of the OTLP ports.",
      labelNames: ["result"],
      registers,
    });
    this.expiry = new Gauge({
      name: "tradewind_predictor_otlp_tls_certificate_expiry_timestamp_seconds",
      help: "When the certificate of the OTLP ports expires, seconds since the epoch; absent without TLS.",
      registers,
    });
    this.expiry.remove();
  }

  tlsReloaded(result: "changed" | "failed", expiresAtMs: number | undefined): void {
    this.reloads.inc({ result });
    if (expiresAtMs !== undefined) this.expiry.set(expiresAtMs / 1e3);
  }

  follow(transport: Transport, counts: () => ConnectionCounts): void {
    this.ports.set(transport, counts);
  }
}
