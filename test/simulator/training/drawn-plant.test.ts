import { drawnName, drawnNamed, drawnPlant } from "@tradewind/simulator/training/drawn-plant.ts";
import { describe, expect, it } from "vitest";

/** What JSON says of it: its load is a function. */
const textOf = (number: number): string => JSON.stringify(drawnPlant(number));

describe("plants that are drawn", () => {
  it("are the same for a number, and others for other numbers", () => {
    expect(textOf(7)).toBe(textOf(7));
    expect(textOf(8)).not.toBe(textOf(7));
  });

  it("are found by their names, and nothing is by other names", () => {
    expect(drawnNamed(drawnName(7))?.name).toBe("drawn-7");
    for (const name of ["wave", "drawn-", "drawn--1", "drawn-1.5"])
      expect({ name, plant: drawnNamed(name) }).toEqual({ name, plant: undefined });
  });
});
