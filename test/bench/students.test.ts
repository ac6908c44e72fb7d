import { describe, expect, it } from "vitest";
import { SECONDS, surgeAfterKill } from "../../bench/students/local-run.ts";

describe("the load of a run whose predictor is killed", () => {
  it("is calm for 46 s of 345, rises with the kill, and stays up for as long as in the shipped trace", () => {
    const load = surgeAfterKill();
    const secondsOf = (of: (rate: number) => boolean): number =>
      (SECONDS / load.length) * load.filter((rate) => of(rate)).length;
    expect(load.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 27));
    expect(load[20]).toBe(45);
    // Eighteen of the sixty values of 430 s are above 90: 129 s; here within one value of them.
    expect(Math.abs(secondsOf((rate) => rate > 90) - 129)).toBeLessThan(8);
    expect(load.at(-1)).toBe(27);
  });
});
