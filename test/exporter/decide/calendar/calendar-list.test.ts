import { expect, it } from "vitest";
import { CalendarList } from "@tradewind/core/contract/calendar.ts";
import { CalendarLists } from "@tradewind/exporter/decide/calendar/calendar-list.ts";
import { parseApplication } from "@tradewind/kubernetes/application/file.ts";

const NOW = Date.parse("2026-07-06T07:59:30Z");
const application = (name: string, from = "0 8 * * *") =>
  parseApplication(
    {
      name,
      entry: "a",
      objective: { milliseconds: 100 },
      calendars: [{ name: "day", from, until: "0 18 * * *", floor: { replicas: 2 } }],
    },
    "it",
  );

const read = (json: string) => CalendarList.parse(JSON.parse(json)).calendars;

it("lists the calendars of all applications, each with the window that holds or comes next", () => {
  const list = new CalendarLists();
  const all = [application("one"), application("two", "0 7 * * *")];
  const isOpen = (nowMs: number) =>
    read(list.json(all, nowMs)).map((each) => [each.application, each.window?.isOpen]);
  expect(isOpen(NOW)).toEqual([
    ["one", false],
    ["two", true],
  ]);
  expect(isOpen(NOW + 30_000)).toEqual([
    ["one", true],
    ["two", true],
  ]);
});

it("works an application out once in a minute, whatever happens to others, and a changed one at once", () => {
  const list = new CalendarLists();
  let looks = 0;
  const counted = new Proxy(application("one"), {
    get: (target, key) => {
      looks += key === "namespace" ? 1 : 0;
      return Reflect.get(target, key) as unknown;
    },
  });
  for (const other of ["0 1 * * *", "0 2 * * *", "0 3 * * *"]) {
    list.json([counted, application("two", other)], NOW);
  }
  expect(looks).toBe(1);
  const [, edited] = read(list.json([counted, application("two", "0 4 * * *")], NOW + 1e3));
  expect(edited?.calendar.from).toBe("0 4 * * *");
  expect(looks).toBe(1);
});
