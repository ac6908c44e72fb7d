/** An aligned interval of time, `startMs` included, `endMs` excluded; both ms since the Unix epoch. */
export interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/** The interval of `windowSeconds` that holds `atMs`. Intervals are aligned to multiples of their length since the epoch. */
export function intervalAt(atMs: number, windowSeconds: number): Interval {
  const lengthMs = windowSeconds * 1e3;
  const startMs = Math.floor(atMs / lengthMs) * lengthMs;
  return { startMs, endMs: startMs + lengthMs };
}
