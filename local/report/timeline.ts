import type { RunTimeline } from "@tradewind/core/contract/run-report.ts";
import { TIMEOUT_SECONDS } from "../load/generator.ts";
import type { Outcome } from "../load/generator.ts";

/** Parts that a run, or a round of a run without an end, is cut into. */
export const TIMELINE_STEPS = 60;

/** p95 of the users' requests over a run, step by step. */
export interface Timeline {
  record(outcome: Pick<Outcome, "dueSeconds" | "latencySeconds">): void;
  /**
   * Steps of this round of which every request is answered or timed out.
   * @param nowS seconds since the start of the load; Infinity when nothing is under way any more
   */
  read(nowS: number): RunTimeline;
  /** Seconds in steps whose p95 was over the objective, all rounds. Counts what {@link read} has been asked for. */
  readonly secondsOver: number;
}

export interface TimelineOptions {
  /** Length of the run, or of a round of one that goes on, s. */
  readonly roundSeconds: number;
  readonly objectiveSeconds: number;
  /** The run goes on after a round; else later requests belong to the last step. */
  readonly isEndless: boolean;
}

/** Nearest rank: the smallest latency that 95 % of the requests do not exceed. */
function p95Of(latencies: number[]): number {
  latencies.sort((a, b) => a - b);
  return latencies[Math.ceil(0.95 * latencies.length) - 1] ?? 0;
}

export function createTimeline({ isEndless, objectiveSeconds, roundSeconds }: TimelineOptions): Timeline {
  const stepSeconds = roundSeconds / TIMELINE_STEPS;
  const open = new Map<number, number[]>();
  const settled = new Map<number, number>();
  let secondsOver = 0;
  const settle = (nowS: number): void => {
    for (const [step, latencies] of open) {
      if ((step + 1) * stepSeconds > nowS - TIMEOUT_SECONDS) continue;
      const p95 = p95Of(latencies);
      settled.set(step, p95);
      if (p95 > objectiveSeconds) secondsOver += stepSeconds;
      open.delete(step);
    }
  };
  return {
    record({ dueSeconds, latencySeconds }) {
      const step = Math.floor(dueSeconds / stepSeconds);
      const known = isEndless ? step : Math.min(TIMELINE_STEPS - 1, step);
      const latencies = open.get(known);
      if (latencies === undefined) open.set(known, [latencySeconds]);
      else latencies.push(latencySeconds);
    },
    read(nowS) {
      settle(nowS);
      const last = Math.max(-1, ...settled.keys());
      const first = Math.max(0, Math.floor(last / TIMELINE_STEPS) * TIMELINE_STEPS);
      for (const step of settled.keys()) if (step < first) settled.delete(step);
      const p95Ms = Array.from({ length: last + 1 - first }, (_, at) => {
        const seconds = settled.get(first + at);
        return seconds === undefined ? null : seconds * 1e3;
      });
      return { stepSeconds, p95Ms };
    },
    get secondsOver() {
      return secondsOver;
    },
  };
}
