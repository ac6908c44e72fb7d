import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { GuardChannel } from "../../../agent/sampling/guard.ts";

/** Feeds rates once a second to a guard of a counter; returns what it answered. */
function feed(guard: GuardChannel, rates: readonly number[], fromSecond = 0): number[] {
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
    expect(answers.every((answer) => answer === 0)).toBe(true);
  });

  it("alarms on the first reading of a step up or down, and says by how much", () => {
    const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
    const answers = feed(guard, [...constant(20, 1), ...constant(20, 2.5), ...constant(20, 1)]);
    expect(answers[20]).toBeCloseTo(1.5, 6);
    expect(answers[40]).toBeCloseTo(-1.5, 6);
    expect(answers.filter((answer) => answer !== 0)).toHaveLength(2);
  });

  it("finds a small lasting step after some readings and leaves one below half its floor alone", () => {
    const rises = (height: number): number[] =>
      feed(new GuardChannel({ kind: "counter", floor: 0.1 }), [
        ...constant(20, 1),
        ...constant(10, 1 + height),
      ]);
    expect(rises(0.08).findIndex((answer) => answer !== 0)).toBeGreaterThan(20);
    expect(rises(0.04).every((answer) => answer === 0)).toBe(true);
  });

  it("takes resets, repeated and backward times and numbers that are none for calm", () => {
    const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
    feed(guard, constant(20, 1));
    expect(guard.observe(5, 21_000)).toBe(0);
    expect(guard.observe(6, 21_000)).toBe(0);
    expect(guard.observe(7, 1000)).toBe(0);
    expect(guard.observe(Number.NaN, 22_000)).toBe(0);
    expect(guard.observe(Infinity, 23_000)).toBe(0);
    expect(guard.observe(8, Number.NaN)).toBe(0);
  });

  it("goes on watching after a clock that stepped back", () => {
    const guard = new GuardChannel({ kind: "counter", floor: 0.1 });
    feed(guard, constant(20, 1), 1000);
    const answers = feed(guard, [...constant(20, 1), ...constant(5, 3)], 10);
    expect(answers.slice(0, 20).every((answer) => answer === 0)).toBe(true);
    expect(answers[20]).not.toBe(0);
  });

  it("alarms on noise alone at most about once in 15 readings", () => {
    const rng = seededRng(5);
    const rates = Array.from({ length: 20_000 }, () => 10 + standardNormal(rng));
    const alarms = feed(new GuardChannel({ kind: "counter", floor: 0.1 }), rates).filter((x) => x !== 0);
    expect(alarms.length / rates.length).toBeLessThan(1 / 12);
  });

  it("watches a gauge as it is", () => {
    const guard = new GuardChannel({ kind: "gauge", floor: 0.1 });
    for (let second = 0; second < 20; second += 1) expect(guard.observe(0.2, second * 1e3)).toBe(0);
    expect(guard.observe(0.9, 20_000)).toBeCloseTo(0.7, 6);
  });

  it("answers a finite number to any input", () => {
    const reading = fc.tuple(fc.double(), fc.double());
    fc.assert(
      fc.property(
        fc.array(reading),
        fc.constantFrom("counter" as const, "gauge" as const),
        (readings, kind) => {
          const guard = new GuardChannel({ kind, floor: 0.1 });
          for (const [value, nowMs] of readings)
            expect(guard.observe(value, nowMs)).toSatisfy(Number.isFinite);
        },
      ),
    );
  });

  it.each([0, -1, Number.NaN, Infinity])("refuses a floor of %s", (floor) => {
    expect(() => new GuardChannel({ kind: "counter", floor })).toThrow(/floor/);
  });
});
