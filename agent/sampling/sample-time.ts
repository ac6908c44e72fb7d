/** When a sample is taken. */
export interface SampleTime {
  /** Wall time, ms since the epoch. */
  readonly nowMs: number;
  /** Monotonic time in seconds, for rates. */
  readonly seconds: number;
}
