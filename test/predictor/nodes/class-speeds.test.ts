import type { Window } from "@tradewind/core/contract/window.ts";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { ClassSpeedMemory, factorOf, logsOf, speedsAfter } from "@tradewind/predictor/nodes/class-speeds.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { START_MS } from "../measurements.ts";
import { mixed } from "./mixed.ts";

const YOUNG_MS = 120_000;
const FAST = { nodeClass: "fast", count: 3, usageCores: 0.3 };
const SLOW = { nodeClass: "slow", count: 1, usageCores: 0.5 };

const after = (windows: readonly Window[], before?: ClassSpeedMemory): ClassSpeedMemory | undefined =>
  windows.reduce<ClassSpeedMemory | undefined>(
    (memory, each) => speedsAfter(memory, [each], YOUNG_MS),
    before,
  );

const many = (count: number): Window[] =>
  Array.from({ length: count }, (_, at) => mixed("cart", [FAST, SLOW], { at }));

describe("what windows show of the CPU speed of node classes", () => {
  it("is the CPU a request on one class over that on the class with the most containers, in the same window", () => {
    const memory = after(many(1))!;
    expect(memory.reference).toBe("fast");
    // 60 requests a second on four containers: 900 in the window, 675 and 225; 0.5 cores over 0.3.
    expect(memory.classes).toEqual([
      { nodeClass: "slow", comparisons: [[0.5108, Math.round(1 / (1 / 675 + 1 / 225))]] },
    ]);
    expect(ClassSpeedMemory.parse(memory)).toEqual(memory);
  });

  it("goes by the calls of each pod where spans name pods: half the calls at the same use is half the speed", () => {
    const counted = mixed("cart", [
      { ...FAST, count: 1, container: { calls: 400 } },
      { nodeClass: "slow", count: 1, usageCores: 0.3, container: { calls: 200 } },
    ]);
    expect(after([counted])!.classes[0]!.comparisons[0]![0]).toBeCloseTo(Math.log(2), 4);
  });

  it("counts in decisions from twenty comparisons of equal weight on", () => {
    expect(logsOf(after(many(19)))).toEqual(new Map());
    expect(logsOf(after(many(20)))).toEqual(new Map([["slow", 0.5108]]));
  });

  it("is nothing while nodes of one class only were seen", () => {
    expect(after([mixed("cart", [FAST])])).toBeUndefined();
    expect(logsOf(undefined).size).toBe(0);
  });

  it.each([
    ["containers that still warm up", [FAST, { ...SLOW, container: { startedAtMs: START_MS } }], {}],
    ["a container at its limit", [FAST, { ...SLOW, usageCores: 0.95 }], {}],
    ["CPU use that is not measured", [FAST, { ...SLOW, usageCores: 0 }], {}],
    ["a rolling update", [FAST, SLOW], { newestRevisionShare: 0.5 }],
    ["requests that are missing", [FAST, SLOW], { missing: "traces" }],
    ["fewer than twenty requests on a side", [FAST, SLOW], { requestsPerSecond: 5 }],
    [
      "other tenants on one side only",
      [FAST, { ...SLOW, container: { interference: interference(0.5) } }],
      {},
    ],
  ])("says nothing from %s", (_what, classes, overrides) => {
    expect(after([mixed("cart", classes, overrides)])!.classes).toEqual([
      { nodeClass: "slow", comparisons: [] },
    ]);
  });

  it("keeps the reference while it is away, and compares with another class after an hour", () => {
    const third = { nodeClass: "third", count: 1, usageCores: 0.4 };
    const known = after(Array.from({ length: 30 }, (_, at) => mixed("cart", [FAST, SLOW, third], { at })))!;
    // Of use that is not measured nothing new is learnt.
    const silent = (at: number) =>
      mixed(
        "cart",
        [
          { ...SLOW, count: 5, usageCores: 0 },
          { ...third, usageCores: 0 },
        ],
        { at },
      );
    const away = (count: number) =>
      after(
        Array.from({ length: count }, (_, at) => silent(at)),
        known,
      )!;
    expect(away(239)).toMatchObject({ reference: "fast", referenceMissed: 239 });
    const later = away(240);
    expect(later).toMatchObject({ reference: "slow", referenceMissed: 0 });
    expect(logsOf(later).get("third")).toBeCloseTo(Math.log(0.4 / 0.5), 3);
  });

  it("finds the factor within its interval, whatever it is, from noisy windows of several services", () => {
    fc.assert(
      fc.property(fc.double({ min: 0.4, max: 2.5, noNaN: true }), fc.nat(), (ratio, seed) => {
        const rng = seededRng(seed);
        const noisy = (value: number): number => value * Math.exp(0.1 * (rng() + rng() + rng() + rng() - 2));
        const windows = Array.from({ length: 60 }, (_, at) =>
          mixed(
            `service-${at % 3}`,
            [
              { ...FAST, usageCores: noisy(0.2) },
              { ...SLOW, usageCores: noisy(0.2 * ratio) },
            ],
            { at },
          ),
        );
        const factor = factorOf(after(windows)!.classes[0]!.comparisons)!;
        expect(Math.abs(factor.log - Math.log(ratio))).toBeLessThan(0.05);
        expect(factor.low).toBeLessThanOrEqual(factor.log);
        expect(factor.high).toBeGreaterThanOrEqual(factor.log);
      }),
      { numRuns: 50 },
    );
  });

  it("stays within its bounds however many services and windows there are", () => {
    const windows = Array.from({ length: 400 }, (_, at) => mixed(`service-${at}`, [FAST, SLOW]));
    let memory: ClassSpeedMemory | undefined;
    for (let at = 0; at < 20; at += 1) memory = speedsAfter(memory, windows, YOUNG_MS);
    expect(memory!.classes[0]!.comparisons).toHaveLength(240);
    expect(JSON.stringify(memory).length).toBeLessThan(6_000);
  });
});

describe("the factor of a class", () => {
  it("is the median by weights: one comparison of 10 outweighs three of 1", () => {
    expect(
      factorOf([
        [0.1, 1],
        [0.2, 1],
        [0.3, 1],
        [0.9, 10],
      ])!.log,
    ).toBe(0.9);
  });

  it("is not sure where comparisons lie on both sides of 0", () => {
    const comparisons = Array.from({ length: 40 }, (_, at): [number, number] => [
      at % 2 === 0 ? 0.1 : -0.1,
      5,
    ]);
    expect(factorOf(comparisons)!.isSignificant).toBe(false);
  });

  it("is unknown without comparisons", () => {
    expect(factorOf([])).toBeUndefined();
  });
});

function interference(value: number) {
  const absent = { supported: false };
  return {
    cpu: { supported: true, value },
    memoryCapacity: absent,
    memoryBandwidth: absent,
    network: absent,
  };
}
