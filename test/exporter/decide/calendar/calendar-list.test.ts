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

const lists = () => new CalendarLists(() => performance.now());
const read = (json: string) => CalendarList.parse(JSON.parse(json)).calendars;

it("lists the calendars of all applications, each with the window that holds or comes next", async () => {
  const list = lists();
  const all = [application("one"), application("two", "0 7 * * *")];
  const isOpen = async (nowMs: number) =>
    read(await list.json(all, nowMs)).map((each) => [each.application, each.window?.isOpen]);
  expect(await isOpen(NOW)).toEqual([
    ["one", false],
    ["two", true],
  ]);
  expect(await isOpen(NOW + 30_000)).toEqual([
    ["one", true],
    ["two", true],
  ]);
});

it("works an application out once in a minute, whatever happens to others, and a changed one at once", async () => {
  const list = lists();
  let looks = 0;
  const counted = new Proxy(application("one"), {
    get: (target, key) => {
      looks += key === "namespace" ? 1 : 0;
      return Reflect.get(target, key) as unknown;
    },
  });
  for (const other of ["0 1 * * *", "0 2 * * *", "0 3 * * *"]) {
    await list.json([counted, application("two", other)], NOW);
  }
  expect(looks).toBe(1);
  const [, edited] = read(await list.json([counted, application("two", "0 4 * * *")], NOW + 1e3));
  expect(edited?.calendar.from).toBe("0 4 * * *");
  expect(looks).toBe(1);
});
