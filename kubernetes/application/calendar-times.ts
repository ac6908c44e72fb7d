import { Cron } from "croner";
import type { Calendar } from "@tradewind/core/contract/calendar.ts";
import { CronTimes, DAY_MS } from "./cron-times.ts";
import { zoneClock } from "./zone-clock.ts";
import type { ZoneClock } from "./zone-clock.ts";

/** A window of a calendar, ms since the epoch; `untilMs` is no longer part of it. */
export interface CalendarWindow {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Windows in a row that clocks may skip before a calendar counts as one without windows. Clocks are put forward once a year. */
const MOST_SKIPPED = 4;
const HOUR_MS = 3_600_000;
/** Some time that every pattern comes back after, whatever the time is now. */
const ANY_TIME = Date.UTC(2024, 0, 1);

type Times = Pick<Calendar, "except" | "from" | "timeZone" | "until">;

/** A time of a pattern. */
interface Occurrence {
  readonly atMs: number;
  /** What the pattern says, as if it were UTC; clocks may skip it. ms */
  readonly localMs: number;
}

/** Days on which nothing begins, both ends included. */
interface DayRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The windows of a calendar. Times are those of clocks in its zone: one that does not exist, because clocks are put forward, happens when
 * they have been; one that exists twice happens the first time. A window that lies in the skipped time altogether is left out.
 */
export class CalendarTimes {
  readonly #from: Occurrences;
  readonly #until: Occurrences;
  readonly #zone: ZoneClock;
  /** The answer to a question, good until `endMs`. */
  #last:
    | { readonly askedMs: number; readonly endMs: number; readonly window: CalendarWindow | undefined }
    | undefined;

  /** @throws RangeError of a zone that is not known, Error that says which pattern cannot be read */
  constructor({ except, from, timeZone, until }: Times) {
    this.#zone = zoneClock(timeZone);
    this.#from = occurrencesOf("from", from, this.#zone, joined(except));
    this.#until = occurrencesOf("until", until, this.#zone, []);
  }

  /** The pattern that never happens, if one does not. */
  get never(): "from" | "until" | undefined {
    if (!this.#from.happens) return "from";
    return this.#until.happens ? undefined : "until";
  }

  /** The first window that ends after this time: the one that holds, else the next; undefined where there is none. */
  windowAt(atMs: number): CalendarWindow | undefined {
    const last = this.#last;
    if (last !== undefined && last.askedMs <= atMs && atMs < last.endMs) return last.window;
    const window = this.#find(atMs);
    this.#last = { askedMs: atMs, endMs: window?.untilMs ?? atMs + HOUR_MS, window };
    return window;
  }

  #find(atMs: number): CalendarWindow | undefined {
    const before = this.#from.notAfter(atMs);
    const current = before === undefined ? undefined : this.#windowFrom(before);
    if (current !== undefined && current.untilMs > atMs) return current;
    let next = this.#from.after(atMs);
    for (let step = 0; next !== undefined && step < MOST_SKIPPED; step += 1) {
      const window = this.#windowFrom(next);
      if (window !== undefined) return window;
      next = this.#from.after(next.atMs);
    }
    return undefined;
  }

  /** Undefined where it never ends, and where clocks skip all of it. */
  #windowFrom({ atMs: fromMs, localMs }: Occurrence): CalendarWindow | undefined {
    const until = this.#until.after(fromMs);
    if (until === undefined) return undefined;
    const shownMs = this.#zone.shownMs(fromMs);
    // Both the beginning and the end after it then happen at the moment when clocks have been put forward.
    const isSkipped = localMs < shownMs && (this.#until.localAfter(localMs) ?? shownMs + 1) <= shownMs;
    return isSkipped ? undefined : { fromMs, untilMs: until.atMs };
  }
}

const timesOf = new WeakMap<Times, CalendarTimes>();

/** The windows of a calendar, one memory for all who ask. @throws Error as {@link CalendarTimes} */
export function calendarTimes(calendar: Times): CalendarTimes {
  let times = timesOf.get(calendar);
  if (times === undefined) timesOf.set(calendar, (times = new CalendarTimes(calendar)));
  return times;
}

/** When a pattern happens. */
interface Occurrences {
  /** Whether it ever does, its exceptions aside. */
  readonly happens: boolean;
  /** The first one later than this. */
  after(atMs: number): Occurrence | undefined;
  /** The last one not later than this. */
  notAfter(atMs: number): Occurrence | undefined;
  /** The first time later than this by a clock that is never put forward. ms */
  localAfter(localMs: number): number | undefined;
}

/** @throws Error that says what cannot be read */
function occurrencesOf(
  field: "from" | "until",
  text: string,
  zone: ZoneClock,
  exceptions: readonly DayRange[],
): Occurrences {
  try {
    if (text.indexOf(":") <= 0) return new Recurring(new CronTimes(text), zone, exceptions);
    const date = new Cron(text, { timezone: zone.timeZone, paused: true }).getOnce();
    return once(date?.getTime() ?? Number.NaN, zone, exceptions);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^Cron\w+: /, "") : "not readable";
    throw new Error(`${field} '${text}' is no cron pattern of five fields: ${why}`, { cause: error });
  }
}

/** A date with a time, in place of a pattern. */
function once(atMs: number, zone: ZoneClock, exceptions: readonly DayRange[]): Occurrences {
  const localMs = zone.shownMs(atMs);
  const day = Math.floor(localMs / DAY_MS);
  const isException = exceptions.some(({ first, last }) => first <= day && day <= last);
  const occurs = (does: boolean): Occurrence | undefined =>
    does && !isException ? { atMs, localMs } : undefined;
  return {
    happens: atMs > ANY_TIME,
    after: (timeMs) => occurs(atMs > timeMs),
    notAfter: (timeMs) => occurs(atMs <= timeMs),
    localAfter: (timeMs) => (localMs > timeMs ? localMs : undefined),
  };
}

/** A pattern by the clocks of a zone, but for some days. */
class Recurring implements Occurrences {
  readonly #times: CronTimes;
  readonly #zone: ZoneClock;
  readonly #exceptions: readonly DayRange[];

  constructor(times: CronTimes, zone: ZoneClock, exceptions: readonly DayRange[]) {
    this.#times = times;
    this.#zone = zone;
    this.#exceptions = exceptions;
  }

  get happens(): boolean {
    return this.#times.dayFrom(ANY_TIME / DAY_MS) !== undefined;
  }

  after(atMs: number): Occurrence | undefined {
    let day = this.#dayFrom(this.#dayOf(atMs));
    while (day !== undefined) {
      const found = this.#firstOn(day, atMs);
      if (found !== undefined) return found;
      day = this.#dayFrom(day + 1);
    }
    return undefined;
  }

  notAfter(atMs: number): Occurrence | undefined {
    const today = this.#dayOf(atMs);
    let day = this.#dayUntil(today);
    while (day !== undefined) {
      const found = this.#lastOn(day, atMs);
      if (found !== undefined) return found;
      day = this.#dayUntil(day - 1);
    }
    return undefined;
  }

  localAfter(localMs: number): number | undefined {
    const { timesMs } = this.#times;
    const today = Math.floor(localMs / DAY_MS);
    const day = this.#times.dayFrom(today);
    if (day === undefined) return undefined;
    const later = day === today ? timesMs[firstAbove(timesMs, localMs - day * DAY_MS)] : timesMs[0];
    if (later !== undefined) return day * DAY_MS + later;
    const next = this.#times.dayFrom(today + 1);
    return next === undefined ? undefined : next * DAY_MS + (timesMs[0] ?? 0);
  }

  #dayOf = (atMs: number): number => Math.floor(this.#zone.shownMs(atMs) / DAY_MS);

  /** Before clocks change first, and after. Of a time that clocks skip there is neither. */
  #firstOn(day: number, afterMs: number): Occurrence | undefined {
    const midnightMs = day * DAY_MS;
    const { isFixed, timesMs } = this.#times;
    const { afterMs: lateMs, beforeMs: earlyMs, changeMs } = this.#zone.offsetsOn(day);
    const early = timesMs[firstAbove(timesMs, afterMs + earlyMs - midnightMs)];
    if (early !== undefined && midnightMs + early - earlyMs < changeMs) {
      return { atMs: midnightMs + early - earlyMs, localMs: midnightMs + early };
    }
    if (isFixed) return this.#fixedOn(day, (atMs) => atMs > afterMs);
    const late = timesMs[firstAbove(timesMs, Math.max(afterMs, changeMs - 1) + lateMs - midnightMs)];
    return late === undefined ? undefined : { atMs: midnightMs + late - lateMs, localMs: midnightMs + late };
  }

  #lastOn(day: number, atMs: number): Occurrence | undefined {
    if (this.#times.isFixed) return this.#fixedOn(day, (timeMs) => timeMs <= atMs);
    const midnightMs = day * DAY_MS;
    const { timesMs } = this.#times;
    const { afterMs: lateMs, beforeMs: earlyMs, changeMs } = this.#zone.offsetsOn(day);
    const late = timesMs[firstAbove(timesMs, atMs + lateMs - midnightMs) - 1];
    if (late !== undefined && midnightMs + late - lateMs >= changeMs) {
      return { atMs: midnightMs + late - lateMs, localMs: midnightMs + late };
    }
    const early = timesMs[firstAbove(timesMs, Math.min(atMs, changeMs - 1) + earlyMs - midnightMs) - 1];
    return early === undefined
      ? undefined
      : { atMs: midnightMs + early - earlyMs, localMs: midnightMs + early };
  }

  /** The one time of a day: the first of two, and where clocks skip it, when they have been put forward on that day. */
  #fixedOn(day: number, fits: (atMs: number) => boolean): Occurrence | undefined {
    const [timeMs = 0] = this.#times.timesMs;
    const localMs = day * DAY_MS + timeMs;
    const { afterMs, beforeMs, changeMs } = this.#zone.offsetsOn(day);
    const early = localMs - beforeMs < changeMs;
    const atMs = early ? localMs - beforeMs : Math.max(localMs - afterMs, changeMs);
    const isLost = Math.floor((changeMs + afterMs) / DAY_MS) !== day && atMs === changeMs && !early;
    return !isLost && fits(atMs) ? { atMs, localMs } : undefined;
  }

  #dayFrom(day: number): number | undefined {
    let next = this.#times.dayFrom(day);
    for (const { first, last } of this.#exceptions) {
      if (next === undefined || next < first) break;
      if (next <= last) next = this.#times.dayFrom(last + 1);
    }
    return next;
  }

  #dayUntil(day: number): number | undefined {
    let next = this.#times.dayUntil(day);
    for (let index = this.#exceptions.length - 1; index >= 0; index -= 1) {
      const { first = 0, last = 0 } = this.#exceptions[index] ?? {};
      if (next === undefined || next > last) break;
      if (next >= first) next = this.#times.dayUntil(first - 1);
    }
    return next;
  }
}

/** Index of the first that is above the value; their number where none is. */
function firstAbove(rising: readonly number[], value: number): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rising[middle] ?? 0) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The dates in rising order, those that touch as one. */
function joined(except: readonly string[]): readonly DayRange[] {
  const ranges = except
    .map((dates) => {
      const [first = "", last = first] = dates.split("/");
      return { first: dayNumber(first), last: dayNumber(last) };
    })
    .toSorted((a, b) => a.first - b.first);
  const all: { first: number; last: number }[] = [];
  for (const { first, last } of ranges) {
    const before = all.at(-1);
    if (before !== undefined && first <= before.last + 1) before.last = Math.max(before.last, last);
    else all.push({ first, last });
  }
  return all;
}

const dayNumber = (date: string): number => Date.parse(`${date}T00:00:00Z`) / DAY_MS;

/** What is wrong with the times of a calendar, in words; undefined when all is well. */
export function timesProblem(times: Times): string | undefined {
  for (const dates of times.except) {
    const [first = "", last = first] = dates.split("/");
    const wrong = isDate(first) ? [last].find((each) => each !== first && !isDate(each)) : first;
    if (wrong !== undefined) return `except has '${wrong}', which is no date`;
    if (last < first) return `except has '${dates}', which ends before it begins`;
  }
  try {
    const { never } = calendarTimes(times);
    return never && `${never} '${times[never]}' never happens`;
  } catch (error) {
    if (error instanceof RangeError)
      return `timeZone '${times.timeZone}' is not known; write for example Europe/Zurich`;
    return error instanceof Error ? error.message : String(error);
  }
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
