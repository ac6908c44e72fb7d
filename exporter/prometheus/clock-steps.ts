import type { Clock } from "@tradewind/core/clock.ts";

/** A smaller difference between two looks is that of two readings, or NTP's usual half a millisecond a second. ms */
const LEAST_STEP_MS = 1_000;

/** Notices when somebody sets the wall clock, by comparing it with the monotonic one. */
export class ClockSteps {
  readonly #clock: Clock;
  #differenceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#differenceMs = this.#difference();
  }

  /** @returns by how much the wall clock was set since the last look, ms; negative: back; 0 when it was not */
  look(): number {
    const differenceMs = this.#difference();
    const stepMs = differenceMs - this.#differenceMs;
    this.#differenceMs = differenceMs;
    return Math.abs(stepMs) < LEAST_STEP_MS ? 0 : stepMs;
  }

  #difference(): number {
    return this.#clock.nowMs() - this.#clock.monotonicMs();
  }
}
