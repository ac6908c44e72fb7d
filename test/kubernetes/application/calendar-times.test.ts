import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CalendarTimes } from "@tradewind/kubernetes/application/calendar-times.ts";

const ZURICH = { timeZone: "Europe/Zurich", except: [] };
const MORNING = { from: "45 8 * * 1-5", until: "30 10 * * 1-5", ...ZURICH };
const at = (text: string): number => Date.parse(text);
const windowAt = (times: ConstructorParameters<typeof CalendarTimes>[0], time: string) => {
  const window = new CalendarTimes(times).windowAt(at(time));
  return window && [new Date(window.fromMs).toISOString(), new Date(window.untilMs).toISOString()];
};

describe("a calendar", () => {
  it("has windows by the clocks of its zone, in summer and in winter", () => {
    expect(windowAt(MORNING, "2026-07-06T07:00:00Z")).toEqual([
      "2026-07-06T06:45:00.000Z",
      "2026-07-06T08:30:00.000Z",
    ]);
    expect(windowAt(MORNING, "2026-12-07T07:00:00Z")).toEqual([
      "2026-12-07T07:45:00.000Z",
      "2026-12-07T09:30:00.000Z",
    ]);
  });

  it("begins a window at its first moment and ends it before its last", () => {
    const monday = ["2026-07-06T06:45:00.000Z", "2026-07-06T08:30:00.000Z"];
    expect(windowAt(MORNING, "2026-07-06T06:45:00Z")).toEqual(monday);
    expect(windowAt(MORNING, "2026-07-06T08:29:59Z")).toEqual(monday);
    expect(windowAt(MORNING, "2026-07-06T08:30:00Z")).toEqual([
      "2026-07-07T06:45:00.000Z",
      "2026-07-07T08:30:00.000Z",
    ]);
  });

  it("begins a time that clocks skip when they have been put forward, and one that comes twice the first time", () => {
    const night = { from: "30 2 * * *", until: "0 5 * * *", ...ZURICH };
    expect(windowAt(night, "2026-03-28T20:00:00Z")).toEqual([
      "2026-03-29T01:00:00.000Z",
      "2026-03-29T03:00:00.000Z",
    ]);
    expect(windowAt(night, "2026-10-24T20:00:00Z")).toEqual([
      "2026-10-25T00:30:00.000Z",
      "2026-10-25T04:00:00.000Z",
    ]);
  });

  it("has no window where clocks skip all of it", () => {
    const NOON = "2026-03-29T12:00:00Z";
    const sunday = { from: "0 2 * * 0", until: "0 3 * * 0", ...ZURICH };
    const next = ["2026-04-05T00:00:00.000Z", "2026-04-05T01:00:00.000Z"];
    expect(windowAt(sunday, NOON)).toEqual(next);
    expect(windowAt(sunday, "2026-03-29T00:30:00Z")).toEqual(next);
    expect(windowAt({ from: "30 2 * * *", until: "45 2 * * *", ...ZURICH }, NOON)).toEqual([
      "2026-03-30T00:30:00.000Z",
      "2026-03-30T00:45:00.000Z",
    ]);
    const newYork = { from: "15 2 * * *", until: "50 2 * * *", timeZone: "America/New_York", except: [] };
    expect(windowAt(newYork, "2026-03-08T12:00:00Z")).toEqual([
      "2026-03-09T06:15:00.000Z",
      "2026-03-09T06:50:00.000Z",
    ]);
    expect(windowAt({ from: "0 2 * 3 0L", until: "30 2 * 3 0L", ...ZURICH }, NOON)).toBeUndefined();
  });

  it("keeps a window of a day whose beginning clocks skip", () => {
    const day = (from: string, until: string) => windowAt({ from, until, ...ZURICH }, "2026-03-29T12:00:00Z");
    expect(day("30 2 * * *", "30 2 * * *")).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]);
    expect(day("45 2 * * *", "30 2 * * *")).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-30T00:30:00.000Z"]);
    expect(day("0 2 * * *", "0 2 * * *")).toEqual(["2026-03-29T01:00:00.000Z", "2026-03-30T00:00:00.000Z"]);
  });

  it("begins no window on a date of its exceptions, and lets one that began before end as it would", () => {
    const except = ["2026-12-24/2027-01-02", "2027-01-04"];
    const tuesday = ["2027-01-05T07:45:00.000Z", "2027-01-05T09:30:00.000Z"];
    expect(windowAt({ ...MORNING, except }, "2026-12-24T08:00:00Z")).toEqual(tuesday);
    expect(windowAt({ ...MORNING, except }, "2027-01-04T08:00:00Z")).toEqual(tuesday);
    const overnight = { from: "0 22 * * *", until: "0 6 * * *", timeZone: "UTC", except: ["2026-12-25"] };
    expect(windowAt(overnight, "2026-12-25T03:00:00Z")?.[0]).toBe("2026-12-24T22:00:00.000Z");
    expect(windowAt(overnight, "2026-12-26T03:00:00Z")?.[0]).toBe("2026-12-26T22:00:00.000Z");
  });

  it("has its next window after exceptions of years, and none where they have no end", () => {
    const after = (last: string) =>
      windowAt({ ...MORNING, except: [`2020-01-01/${last}`] }, "2026-07-06T07:00:00Z")?.[0];
    expect(after("2039-12-31")).toBe("2040-01-02T07:45:00.000Z");
    expect(after("9999-12-31")).toBeUndefined();
  });

  it("has the window of a date with a time once", () => {
    const christmas = { from: "2026-12-24T18:00:00", until: "2026-12-26T06:00:00", ...ZURICH };
    const window = ["2026-12-24T17:00:00.000Z", "2026-12-26T05:00:00.000Z"];
    expect(windowAt(christmas, "2026-07-06T07:00:00Z")).toEqual(window);
    expect(windowAt(christmas, "2026-12-26T04:59:59Z")).toEqual(window);
    expect(windowAt(christmas, "2026-12-26T05:00:00Z")).toBeUndefined();
    expect(windowAt({ ...christmas, except: ["2026-12-24"] }, "2026-07-06T07:00:00Z")).toBeUndefined();
  });

  it("gives, for any time, a window that ends after it, and the same whatever was asked before", () => {
    const day = fc.integer({ min: 0, max: 6 });
    const minute = fc.integer({ min: 0, max: 59 });
    const hour = fc.integer({ min: 0, max: 23 });
    const zone = fc.constantFrom(
      "Europe/Zurich",
      "America/New_York",
      "Asia/Kolkata",
      "Australia/Lord_Howe",
      "UTC",
    );
    const pattern = fc.tuple(minute, hour, day).map(([m, h, d]) => `${m} ${h} * * ${d}`);
    const time = fc.integer({ min: at("2026-01-01T00:00:00Z"), max: at("2027-12-31T00:00:00Z") });
    fc.assert(
      fc.property(pattern, pattern, zone, time, time, (from, until, timeZone, first, second) => {
        fc.pre(from !== until);
        const times = { from, until, timeZone, except: [] };
        const asked = new CalendarTimes(times);
        asked.windowAt(first);
        const window = asked.windowAt(second)!;
        expect(window).toEqual(new CalendarTimes(times).windowAt(second));
        expect(window.untilMs).toBeGreaterThan(second);
        expect(window.fromMs).toBeLessThan(window.untilMs);
        // A week has one beginning and one end.
        expect(window.untilMs - window.fromMs).toBeLessThanOrEqual((7 * 24 + 1) * 3_600_000);
        // Clocks may skip one window.
        expect(window.fromMs - second).toBeLessThanOrEqual((14 * 24 + 1) * 3_600_000);
      }),
      { numRuns: 100 },
    );
  });
});
