import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { VERSION } from "@tradewind/core/version.ts";
import type { CallObserver } from "../keda/watch-calls.ts";
import type { TlsObserver } from "../keda/credentials.ts";
import type { DecisionCounter } from "../recommender.ts";
import type { StateCounter } from "../store/keeper.ts";
import { GUARD_STEPS } from "../guard/guard.ts";

/** 50 µs to 2.5 s: answers come from memory, so most fall in the first buckets. */
const RPC_BUCKETS_SECONDS = [5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.1, 0.5, 2.5];

/** What the exporter counts about itself. Every label takes few, known values. */
export class ExporterMetrics implements CallObserver, TlsObserver, DecisionCounter, StateCounter {
  readonly registry = new Registry();

  readonly #rpcs = new Histogram({
    name: "tradewind_keda_rpc_duration_seconds",
    help: "Time from the headers of a KEDA call to its status, by RPC and gRPC status.",
    labelNames: ["rpc", "code"],
    buckets: RPC_BUCKETS_SECONDS,
    registers: [this.registry],
  });
  readonly #guardActions = this.#counter(
    "tradewind_guard_actions_total",
    "Decisions that a guard step changed.",
    ["step"],
  );
  readonly #guardRefusals = this.#counter(
    "tradewind_guard_refusals_total",
    "Wishes that a guard step refused; the decision before stays until it expires.",
    ["step"],
  );
  readonly #wishesRejected = this.#counter(
    "tradewind_plan_wishes_rejected_total",
    "Wishes of a plan that break the contract.",
  );
  readonly #polls = this.#counter("tradewind_plan_fetches_total", "Polls of the predictor by result.", [
    "result",
  ]);
  readonly #pollErrors = this.#counter(
    "tradewind_plan_fetch_errors_total",
    "Polls of the predictor that gave no usable plan, by problem.",
    ["problem"],
  );
  readonly #stateEvents = this.#counter(
    "tradewind_state_events_total",
    "Reads and writes of the state file by outcome.",
    ["event"],
  );
  readonly #tlsReloads = this.#counter("tradewind_tls_reloads_total", "Certificates taken up or refused.", [
    "result",
  ]);
  readonly #tlsExpiry = new Gauge({
    name: "tradewind_tls_certificate_expiry_timestamp_seconds",
    help: "When the certificate of the gRPC port expires, seconds since the epoch; absent without TLS.",
    registers: [this.registry],
  });

  constructor() {
    for (const { name } of GUARD_STEPS) {
      this.#guardActions.inc({ step: name }, 0);
      this.#guardRefusals.inc({ step: name }, 0);
    }
    for (const event of ["saved", "save-failed", "read", "corrupt", "unreadable"]) {
      this.#stateEvents.inc({ event }, 0);
    }
    this.#tlsExpiry.remove();
    const info = new Gauge({
      name: "tradewind_exporter_info",
      help: "Always 1; the version is in the label.",
      labelNames: ["version"],
      registers: [this.registry],
    });
    info.set({ version: VERSION }, 1);
  }

  rpcFinished(rpc: string, code: string, seconds: number): void {
    this.#rpcs.observe({ rpc, code }, seconds);
  }

  guardAction(step: string): void {
    this.#guardActions.inc({ step });
  }

  guardRefusal(step: string): void {
    this.#guardRefusals.inc({ step });
  }

  wishRejected(): void {
    this.#wishesRejected.inc();
  }

  polled(result: string): void {
    this.#polls.inc({ result });
    if (result !== "ok" && result !== "unchanged") this.#pollErrors.inc({ problem: result });
  }

  stateEvent(event: string): void {
    this.#stateEvents.inc({ event });
  }

  tlsReloaded(result: string, expiresAtMs: number | undefined): void {
    this.#tlsReloads.inc({ result });
    if (expiresAtMs !== undefined) this.#tlsExpiry.set(expiresAtMs / 1e3);
  }

  #counter<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
