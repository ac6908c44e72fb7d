import type { Registry } from "prom-client";
import type { Prometheus } from "../process/read-series.ts";
import type { TlsObserver } from "./reloading-tls.ts";

/** Names and meanings are the same in every process. */
export const TLS_RELOADS = {
  name: "tradewind_tls_reloads_total",
  help: "Certificates taken up or refused, by port.",
} as const;
export const TLS_EXPIRY = {
  name: "tradewind_tls_certificate_expiry_timestamp_seconds",
  help: "When the certificate of a port expires, seconds since the epoch; absent without TLS.",
} as const;

/** Adds what the certificates of a process's ports do to a registry. @returns the observer of a port's certificates */
export function registerTlsSeries(
  registry: Registry,
  { Counter, Gauge }: Prometheus,
): (port: string) => TlsObserver {
  const registers = [registry];
  const reloads = new Counter({ ...TLS_RELOADS, labelNames: ["port", "result"], registers });
  const expiry = new Gauge({ ...TLS_EXPIRY, labelNames: ["port"], registers });
  return (port) => ({
    tlsReloaded: (result, expiresAtMs) => {
      reloads.inc({ port, result });
      if (expiresAtMs !== undefined) expiry.set({ port }, expiresAtMs / 1e3);
    },
  });
}
