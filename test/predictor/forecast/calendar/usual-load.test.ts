import { expect, it } from "vitest";
import { usualPerSecond } from "@tradewind/predictor/forecast/calendar/usual-load.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Days with 10 requests per second, and at eight o'clock the loads given, until midnight before `today`. */
const series = (ofEight: readonly (number | null)[]) => ({
  stepMs: HOUR_MS,
  endMs: ofEight.length * DAY_MS,
  values: ofEight.flatMap((load) => Array.from({ length: 24 }, (_, hour) => (hour === 8 ? load : 10))),
  begun: { requests: 0, seconds: 0 },
});

it("the usual load of a time of day is the median of the days before, or that of the next step where it is higher", () => {
  const days = series([40, 60, 900, null, 50]);
  const today = days.endMs;
  expect(usualPerSecond(days, today + 8 * HOUR_MS)).toBe(55);
  expect(usualPerSecond(days, today + 7 * HOUR_MS)).toBe(55);
  expect(usualPerSecond(days, today + 6 * HOUR_MS)).toBe(10);
  expect(usualPerSecond(days, today + 8.5 * HOUR_MS)).toBe(55);
});

it("no load is usual before a day is known", () => {
  const { stepMs, begun } = series([]);
  expect(usualPerSecond({ stepMs, begun, endMs: HOUR_MS, values: [7] }, HOUR_MS + 1)).toBeUndefined();
});
