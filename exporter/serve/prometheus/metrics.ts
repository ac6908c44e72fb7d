import { Counter, Gauge, Registry } from "prom-client";
import { OVERRIDE_ENDS, OVERRIDE_KINDS } from "@tradewind/core/contract/override.ts";
import { VERSION } from "@tradewind/core/process/version.ts";
import { registerTlsSeries } from "@tradewind/core/net/tls-series.ts";
import { NOTHING_YET } from "../keda/messages.ts";
import type { ScalerReport } from "../keda/messages.ts";
import type { DecisionCounter } from "../../decide/recommender.ts";
import type { StateCounter } from "../../keep/keeper.ts";
import { GUARD_STEPS } from "../../decide/guard/guard.ts";
import type { AuditCounter } from "../../keep/journal/keeper.ts";
import { callDurations } from "./call-durations.ts";

/** Why the plan of a predictor that answers is not used. */
const UNUSABLE_PLANS = ["future", "out-of-order", "overdue", "stale", "unreadable"];

/** What the exporter counts about itself. Every label takes few, known values. */
export class ExporterMetrics implements AuditCounter, DecisionCounter, StateCounter {
  readonly registry = new Registry();
  /** What the thread that answers KEDA said last. */
  scaler: ScalerReport = NOTHING_YET;

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
    "Polls of a predictor that gave no usable plan, by problem; 'overdue': the plan before the one that is due.",
    ["problem"],
  );
  readonly #clockSteps = this.#counter(
    "tradewind_exporter_clock_steps_total",
    "Times the wall clock was set by a second or more since the poll before, by direction.",
    ["direction"],
  );
  readonly #stateEvents = this.#counter(
    "tradewind_state_events_total",
    "Reads and writes of the state file by outcome.",
    ["event"],
  );
  readonly #audited = this.#counter("tradewind_audit_rows_total", "Rows of the audit trail by result.", [
    "result",
  ]);
  readonly #overrides = this.#counter(
    "tradewind_override_changes_total",
    "Overrides by kind and by what became of them: begun, released, replaced, expired.",
    ["kind", "state"],
  );
  /** The observer of a port's certificates. */
  readonly tls = registerTlsSeries(this.registry, { Counter, Gauge });

  constructor() {
    this.registry.registerMetric(callDurations(() => this.scaler.calls));
    for (const { name } of GUARD_STEPS) {
      this.#guardActions.inc({ step: name }, 0);
      this.#guardRefusals.inc({ step: name }, 0);
    }
    for (const event of ["saved", "save-failed", "read", "record-rejected", "corrupt", "unreadable"]) {
      this.#stateEvents.inc({ event }, 0);
    }
    for (const kind of OVERRIDE_KINDS)
      for (const state of ["begun", ...OVERRIDE_ENDS]) this.#overrides.inc({ kind, state }, 0);
    for (const result of ["written", "lost", "unreadable"]) this.#audited.inc({ result }, 0);
    for (const problem of UNUSABLE_PLANS) this.#pollErrors.inc({ problem }, 0);
    for (const direction of ["forward", "back"]) this.#clockSteps.inc({ direction }, 0);
    const info = new Gauge({
      name: "tradewind_exporter_info",
      help: "Always 1; the version is in the label.",
      labelNames: ["version"],
      registers: [this.registry],
    });
    info.set({ version: VERSION }, 1);
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
    if (result !== "ok" && result !== "unchanged") this.planRefused(result);
  }

  /** Counts a plan that is not used, of the predictor in use or of another. */
  planRefused(problem: string): void {
    this.#pollErrors.inc({ problem });
  }

  /** @param ms positive: forward; 0: it was not set */
  clockStepped(ms: number): void {
    if (ms !== 0) this.#clockSteps.inc({ direction: ms > 0 ? "forward" : "back" });
  }

  audited(result: "written" | "lost" | "unreadable", rows: number): void {
    this.#audited.inc({ result }, rows);
  }

  /** @param state how it ended; `begun` while it has not */
  overrideChanged(kind: string, state: string): void {
    this.#overrides.inc({ kind, state });
  }

  stateEvent(event: string): void {
    this.#stateEvents.inc({ event });
  }

  #counter<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
  ): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}
