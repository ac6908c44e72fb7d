import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { GuardChannel } from "../../../agent/sampling/guard.ts";

/** Feeds rates once a second to a guard of a counter; returns what it answered. */
function feed(guard: GuardChannel, rates: readonly number[], fromSecond = 0): boolean[] {
  let total = 100;
  guard.observe(total, fromSecond * 1e3);
  return rates.map((rate, index) => {
    total += rate;
    return guard.observe(total, (fromSecond + index + 1) * 1e3);
  });
}

const constant = (count: number, rate: number): number[] => Array.from({ length: count }, () => rate);

describe("GuardChannel", () => {
  it("stays calm on a steady rate", () => {
    const answers = feed(new GuardChannel({ kind: "counter", floor: 0.1 }), constant(100, 2));
    expect(answers).not.toContain(true);
  });

  it("alarms on the first reading of a step up or down", () => {
    const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
    const answers = feed(guard, [...constant(20, 1), ...constant(20, 2.5), ...constant(20, 1)]);
    expect(answers.flatMap((moved, reading) => (moved ? [reading] : []))).toEqual([20, 40]);
  });

  it("finds a small lasting step after some readings and leaves one below half its floor alone", () => {
    const rises = (height: number): boolean[] =>
      feed(new GuardChannel({ kind: "counter", floor: 0.1 }), [
        ...constant(20, 1),
        ...constant(10, 1 + height),
      ]);
    expect(rises(0.08).indexOf(true)).toBeGreaterThan(20);
    expect(rises(0.04)).not.toContain(true);
  });

  it("takes resets, repeated and backward times and numbers that are none for calm", () => {
    const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
    feed(guard, constant(20, 1));
    expect(guard.observe(5, 21_000)).toBe(false);
    expect(guard.observe(6, 21_000)).toBe(false);
    expect(guard.observe(7, 1000)).toBe(false);
    expect(guard.observe(Number.NaN, 22_000)).toBe(false);
    expect(guard.observe(Infinity, 23_000)).toBe(false);
    expect(guard.observe(8, Number.NaN)).toBe(false);
  });

  it("goes on watching after a clock that stepped back", () => {
    const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
    feed(guard, constant(20, 1), 1000);
    const answers = feed(guard, [...constant(20, 1), ...constant(5, 3)], 10);
    expect(answers.indexOf(true)).toBe(20);
  });

  it("alarms on noise alone at most about once in 15 readings", () => {
    const rng = seededRng(5);
    const rates = Array.from({ length: 20_000 }, () => 10 + standardNormal(rng));
    const alarms = feed(new GuardChannel({ kind: "counter", floor: 0.1 }), rates).filter((moved) => moved);
    expect(alarms.length / rates.length).toBeLessThan(1 / 12);
  });

  it("watches a gauge as it is", () => {
    const guard = new GuardChannel({ kind: "gauge", floor: 0.1 });
    for (let second = 0; second < 20; second += 1) expect(guard.observe(0.2, second * 1e3)).toBe(false);
    expect(guard.observe(0.9, 20_000)).toBe(true);
  });

  it("takes any input", () => {
    const reading = fc.tuple(fc.double(), fc.double());
    fc.assert(
      fc.property(
        fc.array(reading),
        fc.constantFrom("counter" as const, "gauge" as const),
        (readings, kind) => {
          const guard = new GuardChannel({ kind, floor: 0.1 });
          for (const [value, nowMs] of readings) expect(guard.observe(value, nowMs)).toBeTypeOf("boolean");
        },
      ),
    );
  });

  it.each([0, -1, Number.NaN, Infinity])("refuses a floor of %s", (floor) => {
    expect(() => new GuardChannel({ kind: "counter", floor })).toThrow(/floor/);
  });
});
