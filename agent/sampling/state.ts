import type { Row } from "./table.ts";

/** What is known of one signal; a copy. Absent: not known yet. Times in the caller's monotonic ms. */
export interface SignalState {
  /** Time between reads now asked for, before jitter; within the signal's bounds. */
  readonly intervalSeconds: number;
  readonly dueMs: number;
  readonly lastSampleMs?: number;
  /** Mean rate over the last gap (counter) or last level (gauge). */
  readonly rate?: number;
  /** eps in force: the stated tolerance, raised to the noise and by the cost budget. */
  readonly toleranceInForce: number;
  readonly samplesTotal: number;
  /** Readings that differed from the held rate by more than the tolerance. */
  readonly missesTotal: number;
  /** Readings that could not be used: out of range, not later than the one before, or failed. */
  readonly rejectedTotal: number;
  /** Counter resets seen. */
  readonly resetsTotal: number;
  /** CPU seconds of all its reads, measured where they were, else estimated. */
  readonly costSecondsTotal: number;
}

/** Sums over all signals alive. */
export interface SamplerState {
  readonly signals: number;
  /** Planned CPU seconds per second of all reads, and the budget it is held to as far as fixed intervals and longest ones allow. */
  readonly plannedCostRatio: number;
  readonly costBudgetRatio: number;
  /** Signals whose tolerance the cost budget has raised. */
  readonly stretchedSignals: number;
}

/** A signal's state out of its row. */
export function signalState(row: Row, dueMs: number): SignalState {
  return {
    intervalSeconds: row.intervalSeconds,
    dueMs,
    ...(Number.isNaN(row.lastMs) ? {} : { lastSampleMs: row.lastMs }),
    ...(Number.isNaN(row.rate) ? {} : { rate: row.rate }),
    toleranceInForce: row.tolerance * Math.sqrt(row.intervalSeconds / row.wantedSeconds),
    samplesTotal: row.samples,
    missesTotal: row.misses,
    rejectedTotal: row.rejected,
    resetsTotal: row.resets,
    costSecondsTotal: row.costTotalSeconds,
  };
}
