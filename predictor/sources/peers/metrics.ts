import { Counter, Gauge } from "prom-client";
import type { Registry } from "prom-client";
import { PEER_RESULTS } from "./peers.ts";
import type { PeersHealth } from "./peers.ts";

/** Metrics of the exchange of spans among predictors; peers are counted, not named, since their addresses change. */
export function registerPeerMetrics(registry: Registry, health: () => PeersHealth): void {
  const registers = [registry];
  const collected = [
    new Gauge({
      name: "tradewind_predictor_peers",
      help: "Other predictors by what is known of them; `self` is this one under its own address.",
      labelNames: ["state"],
      registers,
      collect() {
        for (const [state, count] of Object.entries(health().states)) this.set({ state }, count);
      },
    }),
    new Gauge({
      name: "tradewind_predictor_peer_queue_bytes",
      help: "Batches that wait to be sent to other predictors.",
      registers,
      collect() {
        this.set(health().queuedBytes);
      },
    }),
    new Gauge({
      name: "tradewind_predictor_peer_spans_missing",
      help: "1 while spans that other predictors receive are missing here; nothing is scaled down then.",
      registers,
      collect() {
        this.set(Number(health().problem !== undefined));
      },
    }),
    new Counter({
      name: "tradewind_predictor_peer_batches_total",
      help: "Batches for other predictors by what became of them.",
      labelNames: ["result"],
      registers,
      collect() {
        this.reset();
        const { results } = health();
        for (const result of PEER_RESULTS) this.inc({ result }, results[result]);
      },
    }),
    new Counter({
      name: "tradewind_predictor_peer_batches_missed_total",
      help: "Batches of other predictors that never came.",
      registers,
      collect() {
        this.reset();
        this.inc(health().missedTotal);
      },
    }),
    new Counter({
      name: "tradewind_predictor_peer_refused_total",
      help: "Requests on the peers' port that were not taken: `stranger` without a proof of the secret, `replay` seen before.",
      labelNames: ["reason"],
      registers,
      collect() {
        this.reset();
        const { replaysTotal, strangersTotal } = health();
        this.inc({ reason: "stranger" }, strangersTotal);
        this.inc({ reason: "replay" }, replaysTotal);
      },
    }),
  ];
  for (const metric of collected) metric.reset();
}
