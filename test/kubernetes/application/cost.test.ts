import { describe, expect, it } from "vitest";
import { calendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";

const NOW = Date.parse("2026-11-28T05:40:00Z");
/** CPU time that one Application may cost, ms. */
const MOST_MS = 50;
/** The first rounds are the compiler's. */
const ROUNDS = 8;

const numbers = Array.from({ length: 100 }, (_, index) => index);
const calendar = (index: number, more: object) => ({
  name: `c${index}`,
  from: "0 9 * * 1-5",
  until: "0 18 * * 1-5",
  floor: { replicas: 1 },
  ...more,
});
const application = (more: object) => ({ entry: "a", objective: { milliseconds: 100 }, ...more });
const services = Array.from({ length: 5_000 }, (_, index) => ({ name: `s${index}` }));
const everySecondDay = (days: number): string[] =>
  Array.from({ length: days }, (_, index) =>
    new Date(NOW + (2 * index - days) * 86_400_000).toISOString().slice(0, 10),
  );
const zones = Intl.supportedValuesOf("timeZone");

/** CPU time that reading it and looking at its windows takes in the best of some rounds, ms. */
function costMs(value: unknown): number {
  const text = JSON.stringify(value);
  return Math.min(
    ...Array.from({ length: ROUNDS }, () => {
      const before = process.threadCpuUsage();
      for (const each of parseApplication(JSON.parse(text), "it").calendars)
        calendarTimes(each).windowAt(NOW);
      const { system, user } = process.threadCpuUsage(before);
      return (system + user) / 1e3;
    }),
  );
}

describe("an Application", () => {
  it.each([
    [
      "of 100 calendars of which every date is an exception",
      numbers.map((index) =>
        calendar(index, { from: "* * * * *", until: "0 0 29 2 *", except: ["1970-01-01/9999-12-31"] }),
      ),
    ],
    [
      "of 100 calendars that come every 28 years, with dates as exceptions, in 16 zones",
      numbers.map((index) =>
        calendar(index, {
          from: `${index % 60} 0 29 2 +1`,
          until: `${index % 60} 1 29 2 +2`,
          timeZone: zones[(index % 16) * 20],
          except: everySecondDay(50),
        }),
      ),
    ],
    ["of 100 calendars for each of 5,000 services", numbers.map((index) => calendar(index, {}))],
  ])("%s costs at most 50 ms of CPU", (_what, calendars) => {
    // Half of it on an idle machine: caches that other work empties cost CPU time, too.
    expect(costMs(application({ services, calendars }))).toBeLessThan(2 * MOST_MS);
  });

  it.each([
    [
      "5,001 dates",
      numbers.slice(0, 14).map((index) => calendar(index, { except: everySecondDay(366) })),
      "more than 5000 services and dates",
    ],
    [
      "5,001 services",
      [calendar(0, { services: services.map(({ name }) => name) }), calendar(1, { services: ["s1"] })],
      "leave 'services' out",
    ],
    [
      "17 time zones",
      numbers.slice(0, 17).map((index) => calendar(index, { timeZone: zones[index] })),
      "more than 16 time zones",
    ],
  ])(
    "whose calendars list %s is refused with the limit and how to stay under it",
    (_what, calendars, words) => {
      expect(() => parseApplication(application({ services, calendars }), "it")).toThrow(words);
    },
  );
});
