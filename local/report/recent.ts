import { TIMEOUT_SECONDS } from "../load/generator.ts";
import type { Outcome } from "../load/generator.ts";

/** What the load saw in a sliding window. It ends a time-out ago: what was due later may still be unanswered. */
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
      const endS = nowS - TIMEOUT_SECONDS;
      outcomes = outcomes.filter(({ dueSeconds }) => dueSeconds > endS - windowSeconds);
      const settled = outcomes.filter(({ dueSeconds }) => dueSeconds <= endS);
      const latencies = settled.map(({ latencySeconds }) => latencySeconds).sort((a, b) => a - b);
      const spanSeconds = Math.min(windowSeconds, endS);
      return {
        requestsPerSecond: spanSeconds > 0 ? settled.length / spanSeconds : 0,
        p95Seconds: latencies[Math.ceil(0.95 * latencies.length) - 1],
        failed: settled.filter(({ failed }) => failed).length,
      };
    },
  };
}
