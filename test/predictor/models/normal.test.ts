import { describe, expect, it } from "vitest";
import { normalCdf } from "../../../predictor/models/normal.ts";

describe("normalCdf", () => {
  // Abramowitz and Stegun, table 26.1.
  it.each([
    [0, 0.5],
    [1, 0.841_344_746_068_543],
    [-1.96, 0.024_997_895_148_22],
    [3, 0.998_650_101_968_37],
    [-8, 6.220_960_574e-16],
    [40, 1],
  ])("at %d is %d", (x, value) => {
    expect(Math.abs(normalCdf(x) - value)).toBeLessThan(1e-12);
  });
});
