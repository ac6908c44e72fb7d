/** How often a thread or process shows that it runs, and how often it is looked at. ms */
export const BEAT_MS = 250;

/**
 * What hangs uses a CPU or none at all. What uses between these shares of one is starved, on a crowded machine or under a CPU
 * limit, and may go on yet: nothing here takes a second of CPU time without a pause.
 */
const STUCK_SHARE = { idle: 0.02, busy: 0.4 };
/** What is starved gets this many times the limit. */
const STARVED_LIMITS = 2;

/**
 * Judges by its beats whether something hangs. Only time in which the watcher itself ran counts, so that a stop of both (a
 * suspended laptop, a frozen container, a paused virtual machine) is no silence.
 */
export class Silence {
  #lastLookMs: number;
  #silentMs = 0;
  #cpuBeforeMs = 0;

  /** @param nowMs monotonic time, as everywhere here */
  constructor(nowMs: number) {
    this.#lastLookMs = nowMs;
  }

  /**
   * Call it every {@link BEAT_MS}.
   * @param heard whether there was a beat since the last look
   * @param limitMs silence for this long is a hang
   * @param cpuMs CPU time used by what is watched, ever
   * @returns for how long it has been silent, once that is a hang. ms
   */
  look(heard: boolean, limitMs: number, nowMs: number, cpuMs: () => number): number | undefined {
    const ranMs = Math.min(nowMs - this.#lastLookMs, BEAT_MS);
    this.#lastLookMs = nowMs;
    if (heard) {
      this.#silentMs = 0;
      this.#cpuBeforeMs = cpuMs();
      return undefined;
    }
    this.#silentMs += ranMs;
    if (this.#silentMs < limitMs) return undefined;
    const usedMs = cpuMs() - this.#cpuBeforeMs;
    const isStarved = usedMs > STUCK_SHARE.idle * this.#silentMs && usedMs < STUCK_SHARE.busy * limitMs;
    return isStarved && this.#silentMs < STARVED_LIMITS * limitMs ? undefined : this.#silentMs;
  }
}
