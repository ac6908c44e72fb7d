import type { Application } from "@tradewind/core/contract/application.ts";
import type { Calendar, CalendarList } from "@tradewind/core/contract/calendar.ts";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import { forEachInSlices } from "../../keep/slices.ts";

type Listed = CalendarList["calendars"][number];

/** Windows begin and end with a minute, so what is worked out for its beginning holds to its end. */
const MINUTE_MS = 60_000;

/** What people ask of the calendars of applications: which there are, and when they hold. */
export class CalendarLists {
  readonly #minuteOf = new WeakMap<Application, { readonly atMs: number; readonly json: Promise<string> }>();
  readonly #monotonicMs: () => number;

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** JSON of a `CalendarList`. Each application is worked out once in a minute, in slices, however often it is asked for. */
  async json(applications: readonly Application[], nowMs: number): Promise<string> {
    const atMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    const all: string[] = [];
    for (const application of applications) {
      if (application.calendars.length === 0) continue;
      let minute = this.#minuteOf.get(application);
      if (minute?.atMs !== atMs) {
        minute = { atMs, json: this.#workOut(application, atMs) };
        this.#minuteOf.set(application, minute);
      }
      all.push(await minute.json);
    }
    return `{"calendars":[${all.join(",")}]}`;
  }

  async #workOut(application: Application, atMs: number): Promise<string> {
    const listed: string[] = [];
    const list = (calendar: Calendar): void => {
      listed.push(JSON.stringify(listedAt(application, calendar, atMs)));
    };
    await forEachInSlices(application.calendars, list, this.#monotonicMs);
    return listed.join(",");
  }
}

function listedAt({ name, namespace }: Application, calendar: Calendar, atMs: number): Listed {
  const window = calendarTimes(calendar).windowAt(atMs);
  const isOpen = window !== undefined && window.fromMs <= atMs;
  return { application: name, namespace, calendar, ...(window && { window: { ...window, isOpen } }) };
}
