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
