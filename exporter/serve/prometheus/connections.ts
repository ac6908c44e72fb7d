import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import type { ConnectionCounts } from "@tradewind/core/net/connection-limits.ts";

/** Names of ports, and what is counted on each; undefined before it is open. */
export type ConnectionsByPort = Readonly<Record<string, () => ConnectionCounts | undefined>>;

/** What the limits on connections do; they count, and are read at each scrape. */
export function registerConnections(registry: Registry, ports: ConnectionsByPort): void {
  const counted = () =>
    Object.entries(ports).flatMap(([port, read]) => {
      const counts = read();
      return counts === undefined ? [] : [{ port, counts }];
    });
  registerReadMetrics(registry, { Counter, Gauge }, [
    {
      kind: "gauge",
      name: "tradewind_exporter_connections",
      help: "Open connections by port.",
      labelNames: ["port"],
      read: () => counted().map(({ port, counts }) => [{ port }, counts.held]),
    },
    {
      kind: "counter",
      name: "tradewind_exporter_connections_closed_total",
      help: "Connections closed by a limit: refused, evicted for a new one, or silent from the start.",
      labelNames: ["port", "reason"],
      read: () =>
        counted().flatMap(({ port, counts }) =>
          (["refused", "evicted", "silent"] as const).map(
            (reason) => [{ port, reason }, counts[reason]] as const,
          ),
        ),
    },
  ]);
}
