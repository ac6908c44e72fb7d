import { describe, expect, it } from "vitest";
import { HOTEL } from "@tradewind/local/application/hotel.ts";
import { parseTrace, readTrace, shippedTrace } from "@tradewind/local/load/trace.ts";

describe("parseTrace", () => {
  it("reads one rate a line and skips comments and empty lines", () => {
    expect(parseTrace("# rates\n1\n\n 2.5 \r\n0\n", "rates.txt")).toEqual([1, 2.5, 0]);
  });

  it.each([
    ["a word", "1\nfast\n", "rates.txt, line 2: 'fast' is not a rate"],
    ["a negative rate", "-1\n", "rates.txt, line 1: '-1' is not a rate"],
    ["a rate in another unit", "1e9\n", "rates.txt, line 1: '1e9' is not a rate"],
    ["NaN", "NaN\n", "line 1: 'NaN' is not a rate"],
    ["only zeros", "0\n0\n", "rates.txt holds no rate above 0"],
    ["nothing", "", "rates.txt holds no rate above 0"],
  ])("refuses %s by line", (_case, text, message) => {
    expect(() => parseTrace(text, "rates.txt")).toThrow(message);
  });

  it("bounds the number of values", () => {
    expect(() => parseTrace("1\n".repeat(100_001), "rates.txt")).toThrow("more than 100000 values");
  });

  it("names a file that cannot be read", async () => {
    await expect(readTrace("/nowhere/rates.txt")).rejects.toThrow(
      "cannot read the load file /nowhere/rates.txt",
    );
  });
});

describe("the hotel's trace", () => {
  it("surges to more than three times its calm rate and comes back", () => {
    const trace = shippedTrace(HOTEL.load);
    const calm = trace.slice(9, 17);
    const surge = trace.slice(20, 36);
    const end = trace.slice(-4);
    expect(Math.min(...surge)).toBeGreaterThan(2.8 * Math.max(...calm));
    expect(Math.max(...end)).toBeLessThan(Math.min(...surge) / 2);
  });
});
