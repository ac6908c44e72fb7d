import type { Clock } from "@tradewind/core/process/clock.ts";

/** A clock that a test moves. Wall time and monotonic time move together unless the wall clock is stepped. */
export class FakeClock implements Clock {
  #monotonicMs = 1_000_000;
  #wallOffsetMs = 1.79e12;

  nowMs(): number {
    return this.#monotonicMs + this.#wallOffsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  advance(ms: number): void {
    this.#monotonicMs += ms;
  }

  /** The administrator or NTP sets the wall clock. */
  stepWall(ms: number): void {
    this.#wallOffsetMs += ms;
  }
}
