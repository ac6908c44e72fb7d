import type { Clock } from "@tradewind/core/process/clock.ts";
import { vi } from "vitest";

/** Vitest's fake timers as monotonic time, and a wall clock that a test may set. */
export class ManualClock implements Clock {
  private aheadMs = 0;

  nowMs(): number {
    return Date.now() + this.aheadMs;
  }

  monotonicMs(): number {
    return performance.now();
  }

  /** Sets the wall clock forward, or back. */
  set(ms: number): void {
    this.aheadMs += ms;
  }

  pass(ms: number): void {
    vi.advanceTimersByTime(ms);
  }
}
