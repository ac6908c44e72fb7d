import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallSweep } from "../../../predictor/window/call-sweep.ts";

type Call = readonly [start: number, end: number];

function sweptOf(calls: readonly Call[], from: number, to: number): { covered: number; parallel: boolean[] } {
  const sweep = new CallSweep();
  for (const [start, end] of calls) sweep.push(start, end);
  const covered = sweep.sweep(from, to);
  return { covered, parallel: calls.map((_, index) => sweep.isParallel(index)) };
}

describe("sweep over calls", () => {
  it.each<{ when: string; calls: Call[]; covered: number; parallel: boolean[] }>([
    { when: "there are none", calls: [], covered: 0, parallel: [] },
    {
      when: "two touch",
      calls: [
        [10, 20],
        [20, 30],
      ],
      covered: 20,
      parallel: [false, false],
    },
    {
      when: "two overlap",
      calls: [
        [10, 25],
        [20, 30],
      ],
      covered: 20,
      parallel: [true, true],
    },
    {
      when: "a long one overlaps two short ones that do not meet",
      calls: [
        [10, 90],
        [20, 30],
        [40, 50],
        [95, 99],
      ],
      covered: 84,
      parallel: [true, true, true, false],
    },
    {
      when: "they come in any order",
      calls: [
        [40, 50],
        [10, 20],
      ],
      covered: 20,
      parallel: [false, false],
    },
    { when: "one begins before and ends after", calls: [[-10, 200]], covered: 100, parallel: [false] },
    {
      when: "one lies outside",
      calls: [
        [-20, -10],
        [100, 120],
      ],
      covered: 0,
      parallel: [false, false],
    },
  ])("when $when", ({ calls, covered, parallel }) => {
    expect(sweptOf(calls, 0, 100)).toEqual({ covered, parallel });
  });

  it("covers what a count of every unit of time covers, and marks calls that last and overlap pair by pair", () => {
    const call = fc
      .tuple(fc.integer({ min: -20, max: 60 }), fc.integer({ min: 1, max: 30 }))
      .map(([at, length]): Call => [at, at + length]);
    fc.assert(
      fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
        const units = Array.from({ length: 50 }, (_, unit) => unit);
        const covered = units.filter((unit) =>
          calls.some(([start, end]) => start <= unit && unit < end),
        ).length;
        const parallel = calls.map(([start, end], index) =>
          calls.some(
            ([otherStart, otherEnd], other) => other !== index && start < otherEnd && otherStart < end,
          ),
        );
        const swept = sweptOf(calls, 0, 50);
        expect(swept.covered).toBe(covered);
        expect(swept.parallel).toEqual(parallel);
      }),
    );
  });

  it("sorts many calls", () => {
    const calls = Array.from({ length: 5_000 }, (_, index): Call => {
      const start = (index * 7_919) % 5_000;
      return [start, start + 1];
    });
    expect(sweptOf(calls, 0, 5_000).covered).toBe(5_000);
  });
});
