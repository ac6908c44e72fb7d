import { adamState, adamStep } from "@tradewind/core/students/adam.ts";
import { describe, expect, it } from "vitest";

describe("a step of Adam", () => {
  it("is at first the rate, against the gradient's sign", () => {
    const values = Float32Array.of(1, 1, 1);
    adamStep(values, Float32Array.of(0.5, -20, 0), adamState(values), { rate: 0.25 });
    expect([...values].map((value) => Math.round(1e4 * value) / 1e4)).toEqual([0.75, 1.25, 1]);
  });

  it("takes the decay's share off each value besides", () => {
    const values = Float64Array.of(2, -4);
    adamStep(values, Float64Array.of(0, 0), adamState(values), { rate: 0.5, decay: 0.1 });
    expect([...values]).toEqual([1.9, -3.8]);
  });
});
