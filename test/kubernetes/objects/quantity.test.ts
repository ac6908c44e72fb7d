import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatCores, formatMemory } from "@tradewind/core/values/amounts.ts";
import { parseQuantity, Quantity } from "@tradewind/kubernetes/objects/quantity.ts";

describe("parseQuantity", () => {
  it.each([
    ["250m", 0.25],
    ["2", 2],
    ["1.5", 1.5],
    [".5", 0.5],
    ["100n", 1e-7],
    ["128Mi", 134_217_728],
    ["1Gi", 1_073_741_824],
    ["1G", 1e9],
    ["12k", 12_000],
    ["1e3", 1_000],
    ["1E3", 1_000],
    ["2E", 2e18],
    ["1.5Gi", 1_610_612_736],
  ])("reads %s", (text, value) => {
    expect(parseQuantity(text)).toBeCloseTo(value, 9);
  });

  it.each([
    "",
    "x",
    "1 core",
    "1KB",
    "1ki",
    "--1",
    "1e",
    "Mi",
    "NaN",
    "Infinity",
    "1e999",
    `${"9".repeat(305)}M`,
  ])("refuses '%s'", (text) => {
    expect(() => parseQuantity(text)).toThrow(/is not a quantity/);
  });

  it("in an object is never negative", () => {
    expect(Quantity.safeParse("-1").success).toBe(false);
    expect(Quantity.parse(2)).toBe(2);
  });
});

describe("formatting", () => {
  it("rounds up to whole steps, so that nothing gets less than was meant", () => {
    expect(formatCores(0.25)).toBe("250m");
    expect(formatCores(0.2501)).toBe("251m");
    expect(formatCores(3)).toBe("3");
    expect(formatCores(0.1 + 0.2)).toBe("300m");
    expect(formatMemory(200 * 2 ** 20)).toBe("200Mi");
    expect(formatMemory(200e6)).toBe("191Mi");
    expect(formatMemory(2 ** 31)).toBe("2Gi");
    expect(formatMemory(0)).toBe("1Mi");
  });

  it("reads back as at least what was written, by less than a step more", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 1e4, noNaN: true }), (cores) => {
        const back = parseQuantity(formatCores(cores));
        expect(back).toBeGreaterThanOrEqual(cores - 1e-9);
        expect(back - cores).toBeLessThan(0.001 + 1e-9);
      }),
    );
  });
});
