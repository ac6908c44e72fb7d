import type { Clock } from "@tradewind/core/process/clock.ts";
import { ArrivalCounter } from "../../window/arrival-counter.ts";
import type { Interval } from "../../window/interval.ts";
import { SLOTS_PER_WINDOW, surgeSince } from "../../window/surge.ts";
import type { CountedArrivals } from "../../window/surge.ts";

export interface SurgeWatchOptions {
  readonly arrivals: CountedArrivals;
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
export const SLOTS_PER_LOOK = 2;

/** A counter of arrivals that keeps them for as long as a {@link SurgeWatch} compares them with a window. */
export function countArrivals(
  services: () => readonly string[],
  { graceMs, windowMs }: { readonly graceMs: number; readonly windowMs: number },
): ArrivalCounter {
  const keepMs = (1 + OLD_WINDOWS) * windowMs + graceMs;
  return new ArrivalCounter({ services, slotMs: windowMs / SLOTS_PER_WINDOW, keepMs });
}

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

  /** What the timer calls; a simulation, whose time is not the machine's, calls it itself. */
  look(): void {
    const { lastWindow, onSurge } = this.options;
    const window = lastWindow();
    const ratio = window && this.since(window);
    if (ratio !== undefined) onSurge(ratio);
  }

  /**
   * What has come since a window over what came in it, beyond chance and beyond what was told of it before; it is told with this.
   * @returns undefined where it is no more, or the window says nothing of what is usual now
   */
  since(window: Interval): number | undefined {
    const { arrivals, clock, graceMs } = this.options;
    const nowMs = clock.nowMs();
    if (nowMs - window.endMs > OLD_WINDOWS * (window.endMs - window.startMs) + graceMs) return undefined;
    const expected = this.told.windowEndMs === window.endMs ? this.told.ratio : 1;
    const ratio = surgeSince(window, nowMs, arrivals, expected);
    if (ratio !== undefined) this.told = { windowEndMs: window.endMs, ratio };
    return ratio;
  }
}
