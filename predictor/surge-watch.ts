import type { Clock } from "@tradewind/core/clock.ts";
import type { ArrivalCounter } from "./window/arrival-counter.ts";
import type { Interval } from "./window/interval.ts";
import { surgeSince } from "./window/surge.ts";

export interface SurgeWatchOptions {
  readonly arrivals: ArrivalCounter;
  /** The window that the plan in use was made from; undefined before the first. */
  readonly lastWindow: () => Interval | undefined;
  /** Called where requests begin faster than in the last window beyond chance, and than was told of the same window before. */
  readonly onSurge: (ratio: number) => void;
  /** Time between the end of a window and the decision on it. */
  readonly graceMs: number;
  readonly clock: Clock;
}

/** A window this many lengths back, its grace aside, says nothing of what is usual now. */
const OLD_WINDOWS = 3;

/** Between one look and the next: as long as it takes for two more slots to fill. */
const SLOTS_PER_LOOK = 2;

/** Looks at what arrives between one window and the next, so that a surge need not wait for the end of the one it falls into. */
export class SurgeWatch {
  private readonly options: SurgeWatchOptions;
  private timer: NodeJS.Timeout | undefined;
  /** The ratio that was told last, and of which window. */
  private told = { windowEndMs: 0, ratio: 1 };

  constructor(options: SurgeWatchOptions) {
    this.options = options;
  }

  start(): void {
    this.timer = setInterval(() => this.look(), SLOTS_PER_LOOK * this.options.arrivals.slotMs);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    const { arrivals, clock, graceMs, lastWindow, onSurge } = this.options;
    const window = lastWindow();
    if (window === undefined) return;
    const nowMs = clock.nowMs();
    if (nowMs - window.endMs > OLD_WINDOWS * (window.endMs - window.startMs) + graceMs) return;
    const expected = this.told.windowEndMs === window.endMs ? this.told.ratio : 1;
    const ratio = surgeSince(window, nowMs, arrivals, expected);
    if (ratio === undefined) return;
    this.told = { windowEndMs: window.endMs, ratio };
    onSurge(ratio);
  }
}
