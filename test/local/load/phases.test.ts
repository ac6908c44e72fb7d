import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { phaseAt, phasesOf } from "@tradewind/local/load/phases.ts";

describe("phasesOf", () => {
  it("divides 150 s into 20, 25, 50, 35 and 20 s", () => {
    expect(phasesOf(150).map(({ name, fromS, toS }) => [name, Math.round(fromS), Math.round(toS)])).toEqual([
      ["warmup", 0, 20],
      ["calm", 20, 45],
      ["surge", 45, 95],
      ["interference", 95, 130],
      ["recovery", 130, 150],
    ]);
  });

  it("covers the whole run without a gap, in the same shares whatever its length", () => {
    fc.assert(
      fc.property(fc.double({ min: 1, max: 1e5, noNaN: true }), (durationS) => {
        const phases = phasesOf(durationS);
        expect(phases[0]!.fromS).toBe(0);
        expect(phases.at(-1)!.toS).toBe(durationS);
        for (let index = 1; index < phases.length; index += 1) {
          expect(phases[index]!.fromS).toBe(phases[index - 1]!.toS);
          expect(phases[index]!.toS).toBeGreaterThan(phases[index]!.fromS);
        }
      }),
    );
  });
});

describe("phaseAt", () => {
  it.each([
    [0, "warmup"],
    [19.9, "warmup"],
    [20.1, "calm"],
    [94.9, "surge"],
    [149.9, "recovery"],
    [150, "warmup"],
    [200, "surge"],
  ])("says that %d s of rounds of 150 s is %s", (atS, name) => {
    expect(phaseAt(phasesOf(150), atS).name).toBe(name);
  });
});
