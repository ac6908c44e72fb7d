import { DAY_MS } from "./cron-times.ts";

/** What clocks of a zone show around one day: `beforeMs` ahead of UTC until the change, `afterMs` from then on. */
export interface DayOffsets {
  readonly beforeMs: number;
  readonly afterMs: number;
  /** When clocks are put forward or back, ms since the epoch; infinite where they are not. */
  readonly changeMs: number;
}

const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;
/** Clocks of all zones are within 16 hours of UTC; two changes are never within the days that this makes of one. */
const FARTHEST_MS = 16 * HOUR_MS;
const MOST_DAYS = 512;
/** A formatter takes 40 kB and 0.6 ms. */
const MOST_ZONES = 100;

/** The clocks of one zone. What they show on a day is worked out once. */
export class ZoneClock {
  readonly timeZone: string;
  readonly #format: Intl.DateTimeFormat;
  readonly #days = new Map<number, DayOffsets>();

  /** @throws RangeError where there is no such zone */
  constructor(timeZone: string) {
    this.timeZone = timeZone;
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** @param day by the clocks of the zone, numbered since 1970-01-01 */
  offsetsOn(day: number): DayOffsets {
    const known = this.#days.get(day);
    if (known !== undefined) return known;
    const offsets = this.#workOut(day * DAY_MS);
    if (this.#days.size >= MOST_DAYS) this.#days.clear();
    this.#days.set(day, offsets);
    return offsets;
  }

  /** What clocks show, as if it were UTC. ms */
  shownMs(atMs: number): number {
    const { afterMs, beforeMs, changeMs } = this.offsetsOn(Math.floor(atMs / DAY_MS));
    return atMs + (atMs < changeMs ? beforeMs : afterMs);
  }

  #workOut(midnightMs: number): DayOffsets {
    let lowMs = midnightMs - FARTHEST_MS;
    let highMs = midnightMs + DAY_MS + FARTHEST_MS;
    const beforeMs = this.#offsetMs(lowMs);
    const afterMs = this.#offsetMs(highMs);
    if (beforeMs === afterMs) return { beforeMs, afterMs, changeMs: Number.POSITIVE_INFINITY };
    while (highMs - lowMs > SECOND_MS) {
      const middleMs = lowMs + Math.floor((highMs - lowMs) / (2 * SECOND_MS)) * SECOND_MS;
      if (this.#offsetMs(middleMs) === beforeMs) lowMs = middleMs;
      else highMs = middleMs;
    }
    return { beforeMs, afterMs, changeMs: highMs };
  }

  #offsetMs(atMs: number): number {
    const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
    for (const { type, value } of this.#format.formatToParts(atMs)) shown[type] = Number(value);
    const { day = 1, hour = 0, minute = 0, month = 1, second = 0, year = 1970 } = shown;
    return Date.UTC(year, month - 1, day, hour, minute, second) - atMs;
  }
}

const clocks = new Map<string, ZoneClock>();

/** The clock of a zone, one for all calendars; the least recently asked for go. @throws RangeError where there is no such zone */
export function zoneClock(timeZone: string): ZoneClock {
  const key = timeZone.toLowerCase();
  const clock = clocks.get(key) ?? new ZoneClock(timeZone);
  clocks.delete(key);
  clocks.set(key, clock);
  const [oldest] = clocks.keys();
  if (clocks.size > MOST_ZONES && oldest !== undefined) clocks.delete(oldest);
  return clock;
}
