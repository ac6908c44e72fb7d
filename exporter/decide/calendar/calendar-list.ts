import type { Application } from "@tradewind/core/contract/application.ts";
import type { Calendar, CalendarList } from "@tradewind/core/contract/calendar.ts";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";

type ListedCalendar = CalendarList["calendars"][number];

/** Windows begin and end with a minute, so what is worked out for its beginning holds to its end. */
const MINUTE_MS = 60_000;

/** What people ask of the calendars of applications: which there are, and when they hold. */
export class CalendarLists {
  readonly #minuteOf = new WeakMap<Application, { readonly atMs: number; readonly json: string }>();

  /** JSON of a `CalendarList`. Each application is worked out once in a minute, however often it is asked for. */
  json(applications: readonly Application[], nowMs: number): string {
    const atMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const lists: string[] = [];
    for (const application of applications) {
      if (application.calendars.length === 0) continue;
      let minute = this.#minuteOf.get(application);
      if (minute?.atMs !== atMs) {
        const listed = application.calendars.map((each) => JSON.stringify(listedAt(application, each, atMs)));
        minute = { atMs, json: listed.join(",") };
        this.#minuteOf.set(application, minute);
      }
      lists.push(minute.json);
    }
    return `{"calendars":[${lists.join(",")}]}`;
  }
}

function listedAt({ name, namespace }: Application, calendar: Calendar, atMs: number): ListedCalendar {
  const window = calendarTimes(calendar).windowAt(atMs);
  const isOpen = window !== undefined && window.fromMs <= atMs;
  return { application: name, namespace, calendar, ...(window && { window: { ...window, isOpen } }) };
}
