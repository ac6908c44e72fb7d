import type { Clock } from "@tradewind/core/clock.ts";

export interface WindowClockOptions {
  readonly windowSeconds: number;
  /** Time after the end of a window in which late spans are still waited for. */
  readonly graceSeconds: number;
  readonly clock: Clock;
  /** Called once for each window that has closed, in order. */
  readonly onClose: (startMs: number, endMs: number) => void;
}

/** Longest sleep: a wall clock that was set is noticed within it. */
const MAX_SLEEP_MS = 1_000;
/** After a longer standstill (a suspended machine) older windows are skipped: nothing was measured in them. */
const MAX_BEHIND_WINDOWS = 4;

/**
 * Closes windows aligned to multiples of their length since the epoch. The first is the first that begins after the start,
 * so that it was seen whole.
 */
export class WindowClock {
  private readonly options: WindowClockOptions;
  private readonly lengthMs: number;
  private nextStartMs: number;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(options: WindowClockOptions) {
    this.options = options;
    this.lengthMs = options.windowSeconds * 1e3;
    this.nextStartMs = Math.ceil(options.clock.nowMs() / this.lengthMs) * this.lengthMs;
  }

  /** When the next window closes, ms since the Unix epoch. */
  get nextCloseMs(): number {
    return this.nextStartMs + this.lengthMs + this.options.graceSeconds * 1e3;
  }

  start(): void {
    this.schedule();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private schedule(): void {
    if (this.stopped) return;
    const waitMs = Math.max(0, this.nextCloseMs - this.options.clock.nowMs());
    this.timer = setTimeout(() => this.tick(), Math.min(waitMs, MAX_SLEEP_MS));
  }

  private tick(): void {
    const nowMs = this.options.clock.nowMs();
    const behind = Math.floor((nowMs - this.nextCloseMs) / this.lengthMs);
    if (behind > MAX_BEHIND_WINDOWS) this.nextStartMs += (behind - 1) * this.lengthMs;
    while (!this.stopped && this.options.clock.nowMs() >= this.nextCloseMs) {
      const startMs = this.nextStartMs;
      this.nextStartMs += this.lengthMs;
      this.options.onClose(startMs, startMs + this.lengthMs);
    }
    this.schedule();
  }
}
