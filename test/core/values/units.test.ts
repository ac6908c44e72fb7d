import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBytes, parseDurationSeconds, parseObjectiveSeconds } from "@tradewind/core/values/units.ts";

describe("parseDurationSeconds", () => {
  it.each([
    ["150s", 150],
    ["2m", 120],
    ["500ms", 0.5],
    ["1.5h", 5400],
    ["14d", 1_209_600],
    ["30", 30],
  ])("reads %s as %d seconds", (text, seconds) => {
    expect(parseDurationSeconds(text)).toBe(seconds);
  });

  it.each(["", "-1s", "NaN", "Infinity", "5 s", "1e400", "5w", "s"])("refuses '%s' by name", (text) => {
    expect(() => parseDurationSeconds(text)).toThrow(`'${text}' is not a duration`);
  });
});

describe("an objective on the command line", () => {
  it.each([
    ["250ms", 0.25],
    ["0.25s", 0.25],
    ["2m", 120],
  ])("is read from %s as %d seconds", (text, seconds) => {
    expect(parseObjectiveSeconds(text)).toBe(seconds);
  });

  it.each([
    ["250", "'250' has no unit; write 250ms or 0.25s"],
    ["0.5", "'0.5' has no unit"],
    ["0ms", "must be longer than nothing"],
    ["fast", "'fast' is not a duration"],
  ])("is refused where it is '%s': %s", (text, message) => {
    expect(() => parseObjectiveSeconds(text)).toThrow(message);
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1536, "1.5 KiB"],
    [64 * 2 ** 20, "64.0 MiB"],
  ])("writes %d as %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it("always ends in a unit", () => {
    fc.assert(fc.property(fc.double({ min: 0, noNaN: true }), (bytes) => formatBytes(bytes).endsWith("B")));
  });
});
