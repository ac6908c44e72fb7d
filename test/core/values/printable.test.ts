import { expect, it } from "vitest";
import { isPrintable, printable } from "@tradewind/core/values/printable.ts";
import { coloured } from "@tradewind/core/terminal/style.ts";

const TITLE = "\u001b]0;pwned\u0007\u001b[2J\u001b[8mhidden";

it.each([
  ["an escape sequence", TITLE],
  ["a C1 control character", "\u009b2J"],
  ["a change of the order of writing", "ann\u202e"],
  ["a separator of lines", "ann\u2028bob"],
  ["half a surrogate pair", "\ud800"],
])("text with %s is not printable, and printed as ASCII escapes", (_what, text) => {
  expect(isPrintable(text)).toBe(false);
  expect(printable(text)).toMatch(/^[\x20-\x7e]+$/);
  expect(printable(text, true)).toMatch(/^[\x20-\x7e]+$/);
});

it("letters of any language, symbols and ends of lines are printed as they are", () => {
  const text = "Zürich 東京 → 5 ≥ 3 · 😀\n";
  expect(printable(text)).toBe(text);
  expect(isPrintable("Zürich 東京 → 5 😀")).toBe(true);
});

it("colours are left only where the command colours", () => {
  const text = coloured("green", "approved");
  expect(printable(text, true)).toBe(text);
  expect(printable(text)).toBe("\\u001b[32mapproved\\u001b[39m");
});

it("a JSON text says the same when it is printed", () => {
  const value = { by: `${TITLE}\u009b\u202e\u{e0001}` };
  expect(JSON.parse(printable(JSON.stringify(value)))).toEqual(value);
});
