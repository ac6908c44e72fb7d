/** The only way to ask for the time: edges hold a clock, pure code is handed `nowMs`. */
export interface Clock {
  /** Wall time, ms since the Unix epoch. May step when the machine's clock is set. */
  nowMs(): number;
  /** Monotonic time, ms from an arbitrary start that all threads share. Never steps; for intervals and deadlines. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  // Not `performance.now()`, which counts from the start of its own thread.
  monotonicMs: () => {
    const [seconds, nanoseconds] = process.hrtime();
    return seconds * 1e3 + nanoseconds / 1e6;
  },
};

/** A wall clock that moved this much otherwise than the monotonic one was set; what moves less is drift or is slewed. */
const LEAST_STEP_MS = 1_000;

/** How far the wall clock has been set forward since the start, ms, in memory that all threads of a process share. */
export type ForwardSteps = Float64Array<SharedArrayBuffer>;

export const noSteps = (): ForwardSteps =>
  new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));

/**
 * A clock for ages. The kernel's monotonic time stands still while a machine is suspended and in a VM that is restored; the wall clock then
 * steps forward. Here monotonic time takes each such step with it, and none back: what is old never looks younger.
 */
export class AgeClock implements Clock {
  readonly #clock: Clock;
  readonly #steps: ForwardSteps;
  #offsetMs: number;
  /** All steps forward that this thread saw, and those before it began. */
  #forwardMs: number;

  /** @param steps the same for all threads that compare times */
  constructor(clock: Clock, steps: ForwardSteps) {
    this.#clock = clock;
    this.#steps = steps;
    this.#offsetMs = clock.nowMs() - clock.monotonicMs();
    this.#forwardMs = steps[0] ?? 0;
  }

  nowMs(): number {
    return this.#clock.nowMs();
  }

  monotonicMs(): number {
    const monotonicMs = this.#clock.monotonicMs();
    const movedMs = this.#clock.nowMs() - monotonicMs - this.#offsetMs;
    if (Math.abs(movedMs) >= LEAST_STEP_MS) {
      this.#offsetMs += movedMs;
      this.#forwardMs += Math.max(0, movedMs);
      this.#steps[0] = Math.max(this.#steps[0] ?? 0, this.#forwardMs);
    }
    return monotonicMs + (this.#steps[0] ?? 0);
  }
}

/**
 * Wall time that passes as monotonic time does. It follows the wall clock's drift, and its steps one at a time. {@link look}
 * returns each step. Call it about every second: over longer times drift and slewing look like a step.
 */
export class SteppedClock {
  private readonly clock: Clock;
  private readonly leastGapMs: number;
  private offsetMs: number;
  private steppedMs = Number.NEGATIVE_INFINITY;

  /** @param leastGapMs least time between two steps that are followed; 0: every step is followed at once */
  constructor(clock: Clock, leastGapMs: number) {
    this.clock = clock;
    this.leastGapMs = leastGapMs;
    this.offsetMs = clock.nowMs() - clock.monotonicMs();
  }

  nowMs(): number {
    return this.clock.monotonicMs() + this.offsetMs;
  }

  /** By how much the wall clock was set, ms, forward or back, where that is followed from now on; else 0. */
  look(): number {
    const monotonicMs = this.clock.monotonicMs();
    const offsetMs = this.clock.nowMs() - monotonicMs;
    const movedMs = offsetMs - this.offsetMs;
    const isStep = Math.abs(movedMs) >= LEAST_STEP_MS;
    if (isStep && monotonicMs - this.steppedMs < this.leastGapMs) return 0;
    this.offsetMs = offsetMs;
    if (!isStep) return 0;
    this.steppedMs = monotonicMs;
    return movedMs;
  }
}
