import { SteppedClock } from "@tradewind/core/process/clock.ts";
import type { Clock } from "@tradewind/core/process/clock.ts";
import type { Interval } from "../../window/interval.ts";

/** A window whose time is over. `startMs` and `endMs` are what the wall clock said: a label. */
export interface ClosedWindow extends Interval {
  /** When it began and ended by the monotonic clock, ms. */
  readonly fromMs: number;
  readonly toMs: number;
  /** How often the wall clock had been set by then. */
  readonly era: number;
  /** The wall clock was set back: a window before had this time already, or a part of it. */
  readonly repeated: boolean;
  /** The longest time within it in which this process did not run, ms; 0 where that is not worth a word. */
  readonly stoodStillMs: number;
}

export interface WindowClockOptions {
  readonly windowSeconds: number;
  /** Time after the end of a window in which late spans are still waited for. */
  readonly graceSeconds: () => number;
  readonly clock: Clock;
  /** Called once for each window that has closed, in order. */
  readonly onClose: (window: ClosedWindow) => void;
  /** Called when the wall clock was set, by so many ms; the window that had begun is never closed. */
  readonly onStep: (stepMs: number) => void;
}

/** Longest sleep: a wall clock that was set is noticed within it. */
const MAX_SLEEP_MS = 1_000;
/** After a longer standstill older windows are skipped: nothing was measured in them. */
const MAX_BEHIND_WINDOWS = 4;
/** A sleep that took this much longer was a standstill of the process or its machine. */
const STANDSTILL_MS = 2_000;
/** Standstills and labels of the past that are remembered. */
const MOST_REMEMBERED = 16;

/** Time from when the wall clock was set until it was set again: labels that were given to windows. */
interface Era {
  readonly startMs: number;
  endMs: number;
}

/**
 * Closes windows aligned to multiples of their length since the epoch. The first is the first that begins after the start,
 * so that it was seen whole. How time passes is told by the monotonic clock, the wall clock only says how it is called:
 * when that is set, windows begin anew at the next multiple, and go on at the same pace.
 */
export class WindowClock {
  private readonly options: WindowClockOptions;
  private readonly lengthMs: number;
  private readonly time: SteppedClock;
  private readonly eras: Era[];
  private standstills: { readonly fromMs: number; readonly toMs: number }[] = [];
  private nextStartMs: number;
  private lookedMs: number;
  private era = 0;
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;

  constructor(options: WindowClockOptions) {
    this.options = options;
    this.lengthMs = options.windowSeconds * 1e3;
    // Until a window could close after a step another one waits: a clock that is set all the time shall not stop the windows.
    this.time = new SteppedClock(options.clock, 2 * this.lengthMs + 1e3 * options.graceSeconds());
    this.lookedMs = options.clock.monotonicMs();
    this.nextStartMs = this.firstAfter(this.time.nowMs());
    this.eras = [{ startMs: this.nextStartMs, endMs: this.nextStartMs }];
  }

  /** When the next window closes, ms since the Unix epoch. */
  get nextCloseMs(): number {
    return this.nextStartMs + this.lengthMs + this.options.graceSeconds() * 1e3;
  }

  start(): void {
    this.schedule();
  }

  /** Whether the wall clock has not been set since the window: what has come since is called otherwise. */
  isCurrent({ era }: ClosedWindow): boolean {
    return era === this.era;
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private firstAfter(ms: number): number {
    return Math.ceil(ms / this.lengthMs) * this.lengthMs;
  }

  private schedule(): void {
    if (this.stopped) return;
    const waitMs = Math.max(0, this.nextCloseMs - this.time.nowMs());
    this.timer = setTimeout(() => this.tick(), Math.min(waitMs, MAX_SLEEP_MS));
  }

  private tick(): void {
    this.noteStandstill();
    const stepMs = this.time.look();
    if (stepMs !== 0) {
      this.nextStartMs = this.firstAfter(this.time.nowMs());
      this.eras.push({ startMs: this.nextStartMs, endMs: this.nextStartMs });
      if (this.eras.length > MOST_REMEMBERED) this.eras.shift();
      this.era += 1;
      this.options.onStep(stepMs);
    }
    const behind = Math.floor((this.time.nowMs() - this.nextCloseMs) / this.lengthMs);
    if (behind > MAX_BEHIND_WINDOWS) this.nextStartMs += (behind - 1) * this.lengthMs;
    while (!this.stopped && this.time.nowMs() >= this.nextCloseMs) this.close();
    this.schedule();
  }

  private noteStandstill(): void {
    const nowMs = this.options.clock.monotonicMs();
    if (nowMs - this.lookedMs > MAX_SLEEP_MS + STANDSTILL_MS) {
      this.standstills.push({ fromMs: this.lookedMs, toMs: nowMs });
      if (this.standstills.length > MOST_REMEMBERED) this.standstills.shift();
    }
    this.lookedMs = nowMs;
  }

  private close(): void {
    const { clock, onClose } = this.options;
    const startMs = this.nextStartMs;
    const endMs = startMs + this.lengthMs;
    this.nextStartMs = endMs;
    const repeated = this.eras.slice(0, -1).some((era) => startMs < era.endMs && endMs > era.startMs);
    const present = this.eras.at(-1);
    if (present !== undefined) present.endMs = endMs;
    const monotonicMs = clock.monotonicMs() - this.time.nowMs();
    const [fromMs, toMs] = [startMs + monotonicMs, endMs + monotonicMs];
    const within = this.standstills.filter((each) => each.fromMs < toMs && each.toMs > fromMs);
    const stoodStillMs = Math.max(0, ...within.map((each) => each.toMs - each.fromMs));
    onClose({ startMs, endMs, fromMs, toMs, era: this.era, repeated, stoodStillMs });
  }
}
