import { Cron } from "croner";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Calendar } from "@tradewind/core/contract/calendar.ts";
import { CalendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import type { CalendarWindow } from "@tradewind/kubernetes/application/calendar-times.ts";

type Times = Pick<Calendar, "except" | "from" | "timeZone" | "until">;

const SECOND_MS = 1_000;

/** Goes from one time of the pattern to the next by the cron library, which asks Intl for each: slow, and without any skipping. */
function steppedWindow({ except, from, timeZone, until }: Times, atMs: number): CalendarWindow | undefined {
  const [begins, ends] = [from, until].map((text) => new Cron(text, { timezone: timeZone, mode: "5-part" }));
  const dates = new Intl.DateTimeFormat("en-CA", { timeZone });
  const isException = (timeMs: number): boolean => {
    const date = dates.format(timeMs);
    return except
      .map((range) => range.split("/"))
      .some(([first = "", last = first]) => first <= date && date <= last);
  };
  const step = (edgeMs: number, direction: -1 | 1): number | undefined => {
    const run =
      direction < 0 ? begins!.previousRuns(1, new Date(edgeMs))[0] : begins!.nextRun(new Date(edgeMs));
    if (run === undefined || run === null) return undefined;
    return isException(run.getTime()) ? step(run.getTime(), direction) : run.getTime();
  };
  const windowFrom = (fromMs: number | undefined): CalendarWindow | undefined => {
    const end = fromMs === undefined ? undefined : ends!.nextRun(new Date(fromMs));
    return end && fromMs !== undefined ? { fromMs, untilMs: end.getTime() } : undefined;
  };
  const current = windowFrom(step(Math.floor(atMs / SECOND_MS) * SECOND_MS + SECOND_MS, -1));
  if (current !== undefined && current.untilMs > atMs) return current;
  return windowFrom(step(atMs, 1));
}

const ZONES = [
  "Europe/Zurich",
  "America/New_York",
  "America/Havana",
  "America/Nuuk",
  "Asia/Beirut",
  "Asia/Kolkata",
  "Australia/Lord_Howe",
  "Pacific/Chatham",
  "UTC",
];

/** Changes of clocks in these zones, and days around them. */
const CHANGES = [
  "2026-03-08T07:00:00Z",
  "2026-03-28T22:00:00Z",
  "2026-03-29T01:00:00Z",
  "2026-04-04T15:00:00Z",
  "2026-10-25T01:00:00Z",
  "2026-11-01T06:00:00Z",
  "2027-02-27T12:00:00Z",
].map((text) => Date.parse(text));

const between = (min: number, max: number) => fc.integer({ min, max });
const minute = fc.oneof(between(0, 59).map(String), fc.constantFrom("*/20", "0,30", "5-55/25"));
const hour = fc.oneof(
  between(0, 23).map(String),
  between(0, 3).map(String),
  fc.constantFrom("*", "1-3", "*/6"),
);
const day = fc.constantFrom("*", "*", "*", "1", "15", "29", "L", "LW", "1W", "15W,20", "8-14");
const month = fc.constantFrom("*", "*", "*", "3", "10", "2", "3-4,10-11");
const weekday = fc.constantFrom("*", "*", "0", "1-5", "6", "0L", "1#2", "+0", "+5#1", "7");
const pattern = fc.tuple(minute, hour, day, month, weekday).map((fields) => fields.join(" "));
const time = fc
  .tuple(fc.constantFrom(...CHANGES), between(-72 * 60, 72 * 60), between(0, 59_999))
  .map(([changeMs, minutes, ms]) => changeMs + minutes * 60_000 + ms);
const date = between(-5, 40).map((days) =>
  new Date(CHANGES[1]! + days * 86_400_000).toISOString().slice(0, 10),
);
const except = fc.array(
  fc.oneof(
    date,
    fc.tuple(date, date).map((dates) => dates.toSorted().join("/")),
  ),
  { maxLength: 4 },
);

it("gives the windows that stepping from time to time gives, also where clocks change and on dates of exceptions", () => {
  let windows = 0;
  fc.assert(
    fc.property(
      pattern,
      pattern,
      fc.constantFrom(...ZONES),
      except,
      time,
      (from, until, timeZone, dates, atMs) => {
        // Whether clocks skip all of a window is for the tests with dates of their own.
        const stepped = steppedWindow({ from, until, timeZone, except: dates }, atMs);
        fc.pre(stepped === undefined || !isMoved(from, timeZone, stepped.fromMs));
        const window = new CalendarTimes({ from, until, timeZone, except: dates }).windowAt(atMs);
        expect(window).toEqual(stepped);
        windows += window === undefined ? 0 : 1;
      },
    ),
    { numRuns: 120 },
  );
  expect(windows).toBeGreaterThan(50);
});

/** Whether the time was moved because clocks skip the one of the pattern. */
const isMoved = (text: string, timeZone: string, atMs: number): boolean =>
  !new Cron(text, { timezone: timeZone, mode: "5-part" }).match(new Date(atMs));
