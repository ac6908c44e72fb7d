import type { Row } from "./table.ts";

/** A reading that comes this much before a best moment stands for it. */
const EARLY_MS = 500;

/** The moments at which readings are best taken, a window apart: a window's mean is the rise between two of them. */
export class Moments {
  readonly #windowMs: number;
  #oneMs = 0;

  constructor(windowSeconds: number) {
    this.#windowMs = windowSeconds * 1e3;
  }

  /** @param momentMs any one of them */
  align(momentMs: number): void {
    this.#oneMs = momentMs;
  }

  /**
   * When a signal read now is read next: at the last moment within its interval, at the first one after it when the cost
   * budget has stretched it. An interval below a window ends at the next moment at the latest.
   */
  dueMs(row: Row, nowMs: number): number {
    const intervalMs = row.intervalSeconds * 1e3;
    const shortestMs = row.minSeconds * 1e3;
    // A moment that the shortest interval misses by half of itself is met that much late.
    const soonestMs = Math.max(nowMs + shortestMs, this.#from(nowMs + shortestMs / 2));
    if (intervalMs < this.#windowMs) return Math.min(nowMs + intervalMs, soonestMs);
    const latestMs = nowMs + row.maxSeconds * 1e3;
    if (row.intervalSeconds > row.wantedSeconds) return Math.min(latestMs, this.#from(nowMs + intervalMs));
    const lastMs = this.#from(nowMs + intervalMs + EARLY_MS) - this.#windowMs;
    return Math.min(latestMs, Math.max(soonestMs, lastMs));
  }

  /** The first moment at or after a time. */
  #from(atMs: number): number {
    return this.#oneMs + Math.ceil((atMs - this.#oneMs) / this.#windowMs) * this.#windowMs;
  }
}
