import { registerReadMetrics } from "@tradewind/core/process/read-series.ts";
import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { PEER_RESULTS } from "./peers.ts";
import type { PeersHealth } from "./peers.ts";

/** Metrics of the exchange of spans among predictors; peers are counted, not named, since their addresses change. */
export function registerPeerMetrics(registry: Registry, health: () => PeersHealth): void {
  registerReadMetrics(registry, { Counter, Gauge }, [
    {
      kind: "gauge",
      name: "tradewind_predictor_peers",
      help: "Other predictors by what is known of them; `self` is this one under its own address.",
      labelNames: ["state"],
      read: () => Object.entries(health().states).map(([state, count]) => [{ state }, count]),
    },
    {
      kind: "gauge",
      name: "tradewind_predictor_peer_queue_bytes",
      help: "Batches that wait to be sent to other predictors.",
      read: () => health().queuedBytes,
    },
    {
      kind: "gauge",
      name: "tradewind_predictor_peer_spans_missing",
      help: "1 while spans that other predictors receive are missing here; nothing is scaled down then.",
      read: () => Number(health().problem !== undefined),
    },
    {
      kind: "counter",
      name: "tradewind_predictor_peer_batches_total",
      help: "Batches for other predictors by what became of them.",
      labelNames: ["result"],
      read: () => PEER_RESULTS.map((result) => [{ result }, health().results[result]]),
    },
    {
      kind: "counter",
      name: "tradewind_predictor_peer_batches_missed_total",
      help: "Batches of other predictors that never came.",
      read: () => health().missedTotal,
    },
    {
      kind: "counter",
      name: "tradewind_predictor_peer_refused_total",
      help: "Requests on the peers' port that were not taken: `stranger` without a proof of the secret, `replay` seen before.",
      labelNames: ["reason"],
      read: () => [
        [{ reason: "stranger" }, health().strangersTotal],
        [{ reason: "replay" }, health().replaysTotal],
      ],
    },
  ]);
}
