import { Cron, CronDate } from "croner";
import type { Calendar } from "@tradewind/core/contract/calendar.ts";

/** A window of a calendar, ms since the epoch; `untilMs` is no longer part of it. */
export interface CalendarWindow {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Times looked at until one is found that is no exception: a year of days, and the hours and minutes at its edge. */
const MOST_STEPS = 500;
/** Windows in a row that clocks may skip before a calendar counts as one without windows. Clocks are put forward once a year. */
const MOST_SKIPPED = 4;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;

type Times = Pick<Calendar, "except" | "from" | "timeZone" | "until">;

/**
 * The windows of a calendar. Times are those of clocks in its zone: one that does not exist, because clocks are put forward, happens when
 * they have been; one that exists twice happens the first time. A window that lies in the skipped time altogether is left out.
 */
export class CalendarTimes {
  private readonly from: Cron;
  private readonly until: Cron;
  /** The same patterns by a clock that is never put forward. */
  private readonly steady: { readonly from: Cron; readonly until: Cron };
  private readonly timeZone: string;
  private readonly date: Intl.DateTimeFormat;
  private readonly exceptions: readonly (readonly [first: string, last: string])[];
  /** The answer to a question, good until `endMs`. */
  private last:
    | { readonly askedMs: number; readonly endMs: number; readonly window: CalendarWindow | undefined }
    | undefined;

  /** @throws Error of the cron library that says what it cannot read */
  constructor({ except, from, timeZone, until }: Times) {
    this.from = cron(from, timeZone);
    this.until = cron(until, timeZone);
    this.steady = { from: cron(from, "UTC"), until: cron(until, "UTC") };
    this.timeZone = timeZone;
    this.date = new Intl.DateTimeFormat("en-CA", {
      timeZone,
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
    });
    this.exceptions = except.map(rangeOf);
  }

  /** The first window that ends after this time: the one that holds, else the next; undefined where there is none. */
  windowAt(atMs: number): CalendarWindow | undefined {
    const { last } = this;
    if (last !== undefined && last.askedMs <= atMs && atMs < last.endMs) return last.window;
    const window = this.find(atMs);
    this.last = { askedMs: atMs, endMs: window?.untilMs ?? atMs + HOUR_MS, window };
    return window;
  }

  private find(atMs: number): CalendarWindow | undefined {
    const before = this.begin(atMs, -1);
    const current = before === undefined ? undefined : this.windowFrom(before);
    if (current !== undefined && current.untilMs > atMs) return current;
    let next = this.begin(atMs, 1);
    for (let step = 0; next !== undefined && step < MOST_SKIPPED; step += 1) {
      const window = this.windowFrom(next);
      if (window !== undefined) return window;
      next = this.begin(next, 1);
    }
    return undefined;
  }

  /** Undefined where it never ends, and where clocks skip all of it. */
  private windowFrom(fromMs: number): CalendarWindow | undefined {
    const untilMs = this.until.nextRun(new Date(fromMs))?.getTime();
    return untilMs === undefined || this.isSkipped(fromMs) ? undefined : { fromMs, untilMs };
  }

  /** Whether clocks skip the beginning, and the end after it too: both then happen at the moment when they have been put forward. */
  private isSkipped(fromMs: number): boolean {
    if (this.from.match(new Date(fromMs))) return false;
    const { day, hour, minute, month, second, year } = new CronDate(new Date(fromMs), this.timeZone);
    const shown = new Date(Date.UTC(year, month, day, hour, minute, second));
    const [from] = this.steady.from.previousRuns(1, shown);
    const until = from && this.steady.until.nextRun(from);
    return until ? until <= shown : false;
  }

  /** The nearest beginning that is no exception: not after the time, or after it. */
  private begin(atMs: number, direction: -1 | 1): number | undefined {
    let edgeMs = direction < 0 ? Math.floor(atMs / SECOND_MS) * SECOND_MS + SECOND_MS : atMs;
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const run =
        direction < 0 ? this.from.previousRuns(1, new Date(edgeMs))[0] : this.from.nextRun(new Date(edgeMs));
      if (run === undefined || run === null) return undefined;
      const runMs = run.getTime();
      const exception = this.exceptionOn(runMs);
      if (exception === undefined) return runMs;
      // All between two times of one exception is part of it.
      const jump =
        [DAY_MS, HOUR_MS].find((each) => this.exceptionOn(runMs + direction * each) === exception) ?? 0;
      edgeMs = runMs + direction * jump;
    }
    return undefined;
  }

  private exceptionOn(atMs: number): (typeof this.exceptions)[number] | undefined {
    if (this.exceptions.length === 0) return undefined;
    const date = this.date.format(atMs);
    return this.exceptions.find(([first, last]) => first <= date && date <= last);
  }
}

function cron(pattern: string, timezone: string): Cron {
  return new Cron(pattern, { timezone, paused: true, mode: "5-part" });
}

function rangeOf(dates: string): readonly [string, string] {
  const [first = "", last = first] = dates.split("/");
  return [first, last];
}

/** Some time that every pattern of a calendar comes back after, whatever the time is now. */
const ANY_TIME = Date.UTC(2024, 0, 1);

/** What is wrong with the times of a calendar, in words; undefined when all is well. */
export function timesProblem(times: Times): string | undefined {
  for (const dates of times.except) {
    const [first, last] = rangeOf(dates);
    const wrong = [first, last].find((each) => !isDate(each));
    if (wrong !== undefined) return `except has '${wrong}', which is no date`;
    if (last < first) return `except has '${dates}', which ends before it begins`;
  }
  if (!isTimeZone(times.timeZone)) {
    return `timeZone '${times.timeZone}' is not known; write for example Europe/Zurich`;
  }
  for (const field of ["from", "until"] as const) {
    try {
      if (cron(times[field], times.timeZone).nextRun(new Date(ANY_TIME)) === null)
        return `${field} '${times[field]}' never happens`;
    } catch (error) {
      const why = error instanceof Error ? error.message.replace(/^Cron\w+: /, "") : "not readable";
      return `${field} '${times[field]}' is no cron pattern of five fields: ${why}`;
    }
  }
  return undefined;
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

function isTimeZone(timeZone: string): boolean {
  try {
    return Intl.DateTimeFormat("en-CA", { timeZone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
