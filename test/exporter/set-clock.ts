import { systemClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";

/** The machine's clocks, of which the wall clock can be set. */
export interface SettableClock extends Clock {
  /** Sets the wall clock this much forward, or back. ms */
  set(stepMs: number): void;
}

export function settableClock(): SettableClock {
  let offsetMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + offsetMs,
    monotonicMs: () => systemClock.monotonicMs(),
    set: (stepMs) => {
      offsetMs += stepMs;
    },
  };
}
