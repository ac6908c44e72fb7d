import type { Outcome } from "../load/generator.ts";

/** What the load saw in the last seconds. */
export interface RecentLoad {
  readonly requestsPerSecond: number;
  readonly p95Seconds: number | undefined;
  readonly failed: number;
}

/** Keeps the outcomes of a sliding window, for the screen. */
export interface RecentMeter {
  record(outcome: Outcome): void;
  /** @param nowS seconds since the start of the load */
  read(nowS: number): RecentLoad;
}

export function createRecentMeter(windowSeconds: number): RecentMeter {
  let outcomes: Outcome[] = [];
  return {
    record(outcome) {
      outcomes.push(outcome);
    },
    read(nowS) {
      outcomes = outcomes.filter(({ dueSeconds }) => dueSeconds > nowS - windowSeconds);
      const latencies = outcomes.map(({ latencySeconds }) => latencySeconds).sort((a, b) => a - b);
      return {
        requestsPerSecond: outcomes.length / Math.max(1e-3, Math.min(windowSeconds, nowS)),
        p95Seconds: latencies[Math.ceil(0.95 * latencies.length) - 1],
        failed: outcomes.filter(({ failed }) => failed).length,
      };
    },
  };
}
