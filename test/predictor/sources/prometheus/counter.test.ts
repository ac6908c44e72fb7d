import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { counterColumn, growth } from "@tradewind/predictor/sources/prometheus/counter.ts";
import { readSamples } from "@tradewind/predictor/sources/prometheus/samples.ts";

const samples = (...points: [number, number | string][]) =>
  readSamples(
    points.map(([seconds, value]) => [seconds, String(value)]),
    -1e9,
    1e9,
  );
const window = (endSeconds: number, lengthSeconds = 15) => ({
  firstEndMs: endSeconds * 1_000,
  stepMs: lengthSeconds * 1_000,
  count: 1,
});
const rate = (points: ReturnType<typeof samples>, endSeconds: number): number =>
  counterColumn(points, window(endSeconds), 60_000).perSecond[0]!;

describe("readSamples", () => {
  it("sorts what comes out of order and counts equal twins once", () => {
    const read = samples([30, 3], [10, 1], [20, 2], [20, 2]);
    expect([...read.values]).toEqual([1, 2, 3]);
    expect(read.dropped).toBe(1);
  });

  it("leaves out both of two different values for one time, and what is no number", () => {
    const read = samples([10, 1], [20, 2], [20, 5], [30, "NaN"], [40, "+Inf"], [50, ""], [60, 6]);
    expect([...read.timesMs]).toEqual([10_000, 60_000]);
    expect(read.dropped).toBe(5);
  });

  it("leaves out what was not asked for and what is no sample", () => {
    const read = readSamples([[5, "1"], [50, "2"], "x", [50], [Number.NaN, "1"], null], 10_000, 60_000);
    expect([...read.values]).toEqual([2]);
    expect(read.dropped).toBe(5);
  });
});

describe("counterColumn", () => {
  it("counts from the last sample before the window to the last in it, over the time between them", () => {
    expect(rate(samples([0, 100], [14, 110], [29, 140]), 30)).toBeCloseTo(30 / 15, 12);
  });

  it("starts from 0 after a restart", () => {
    expect(rate(samples([14, 1_000], [20, 1_010], [24, 5], [29, 25]), 30)).toBeCloseTo(
      (10 + 5 + 20) / 15,
      12,
    );
  });

  it("takes a small drop for a sample out of order, not for a restart", () => {
    expect(rate(samples([14, 1_000], [20, 990], [29, 1_030]), 30)).toBeCloseTo(30 / 15, 12);
  });

  it("counts a counter that is new from its first sample on, and knows nothing of a single one", () => {
    expect(rate(samples([20, 500], [29, 518]), 30)).toBeCloseTo(2, 12);
    expect(rate(samples([29, 518]), 30)).toBeNaN();
  });

  it("is unknown, and says silent, when there is no sample in the window", () => {
    const column = counterColumn(samples([10, 1], [14, 2]), window(30), 60_000);
    expect(column.perSecond[0]).toBeNaN();
    expect(column.silent[0]).toBe(1);
  });

  it("does not reach back further than allowed", () => {
    expect(rate(samples([-100, 0], [20, 900], [29, 909]), 30)).toBeCloseTo(1, 12);
  });

  it("has a rate in every window also when windows are shorter than the scrape interval", () => {
    const every30 = samples(
      ...Array.from({ length: 10 }, (_, index): [number, number] => [index * 30 + 4, index * 60]),
    );
    const grid = { firstEndMs: 90_000, stepMs: 15_000, count: 12 };
    expect([...counterColumn(every30, grid, 60_000).perSecond].filter(Number.isNaN)).toHaveLength(6);
    expect([...counterColumn(every30, grid, 60_000, 45_000).perSecond]).toEqual(
      Array.from({ length: 12 }, () => 2),
    );
    const stopped = { firstEndMs: 330_000, stepMs: 15_000, count: 1 };
    expect(counterColumn(every30, stopped, 60_000, 45_000).perSecond[0]).toBeNaN();
  });

  it("does not make a rate of a negative counter", () => {
    expect(growth(samples([0, 5], [1, -3], [2, 7]), 0, 2)).toBeNaN();
  });

  it("counts every increment in exactly one window", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 20, maxLength: 100 }), (steps) => {
        let value = 1_000;
        const points = steps.map((step, index): [number, number] => [index * 7 + 3, (value += step)]);
        const grid = { firstEndMs: 15_000, stepMs: 15_000, count: Math.floor((steps.length * 7) / 15) };
        const read = samples(...points);
        const { perSecond } = counterColumn(read, grid, 60_000);
        const lastIn = (ms: number) => points.findLast(([seconds]) => seconds * 1_000 <= ms)!;
        let sum = 0;
        for (let index = 1; index < grid.count; index += 1) {
          const [from, to] = [lastIn(15_000 * index), lastIn(15_000 * (index + 1))];
          sum += perSecond[index]! * (to[0] - from[0]);
        }
        expect(sum).toBeCloseTo(lastIn(15_000 * grid.count)[1] - lastIn(15_000)[1], 6);
      }),
    );
  });
});
