/** The only way to ask for the time: edges hold a clock, pure code is handed `nowMs`. */
export interface Clock {
  /** Wall time, ms since the Unix epoch. May step when the machine's clock is set. */
  nowMs(): number;
  /** Monotonic time, ms from an arbitrary start. Never steps; for intervals and deadlines. */
  monotonicMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
};
