import { describe, expect, it } from "vitest";
import { timeArgument } from "@tradewind/core/terminal/time-argument.ts";

const NOW = new Date(2026, 10, 28, 15, 0, 0).getTime();
const at = (text: string): number => timeArgument(text, undefined, NOW);
const local = (day: number, hours: number, minutes: number, seconds = 0): number =>
  new Date(2026, 10, day, hours, minutes, seconds).getTime();

describe("a time that is asked for", () => {
  it.each([
    ["14:03", local(28, 14, 3)],
    ["14:03:20", local(28, 14, 3, 20)],
    ["yesterday 14:03", local(27, 14, 3)],
    ["yesterday 23:59", local(27, 23, 59)],
    ["yesterday", local(27, 15, 0)],
    ["23:30", local(27, 23, 30)],
    ["10m", NOW - 600_000],
    ["2026-11-28T13:03:00Z", Date.UTC(2026, 10, 28, 13, 3)],
  ])("is read from '%s'", (text, atMs) => {
    expect(at(text)).toBe(atMs);
  });

  it.each(["24:00", "14:3", "tomorrow 14:03", "noon", "", ":".repeat(100_000)])(
    "is refused with the forms that there are where it is '%s'",
    (text) => {
      expect(() => at(text)).toThrow("write a local time such as 14:03");
    },
  );
});
