import {
  emptySeries,
  RESOLUTIONS,
  withLoad,
  withPastLoad,
} from "@tradewind/predictor/forecast/load-series.ts";
import type { LoadSeries } from "@tradewind/predictor/forecast/load-series.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { START_MS } from "../measurements.ts";

const quarter = (): LoadSeries => emptySeries()[0] as LoadSeries;

/** Windows of so many seconds with these loads, one after the other. */
function after(
  loads: readonly number[],
  seconds: number,
  series = quarter(),
  startMs = START_MS,
): LoadSeries {
  return loads.reduce(
    (sum, perSecond, at) =>
      withLoad(sum, {
        startMs: startMs + 1e3 * seconds * at,
        endMs: startMs + 1e3 * seconds * (at + 1),
        perSecond,
      }),
    series,
  );
}

describe("a series of load", () => {
  it("takes windows of a second together into steps of 15 s", () => {
    const fifteen = [...Array.from({ length: 10 }, () => 3), ...Array.from({ length: 5 }, () => 6)];
    expect(after([...fifteen, 9], 1)).toMatchObject({
      values: [4],
      endMs: START_MS + 15_000,
      begun: { requests: 9, seconds: 1 },
    });
  });

  it("gives each step of a longer window its load", () => {
    expect(after([8], 60).values).toEqual([8, 8, 8, 8]);
  });

  it("leaves steps without a window missing", () => {
    const before = after([5, 5], 15);
    const gap = after([7], 15, before, START_MS + 75_000);
    expect(gap.values).toEqual([5, 5, null, null, null, 7]);
    expect(gap.endMs).toBe(START_MS + 90_000);
  });

  it("begins again after a gap that is longer than all it keeps", () => {
    const late = START_MS + 15_000 * 800;
    expect(after([7], 15, after([5, 5], 15), late).values).toEqual([7]);
  });

  it("ignores what it knows already", () => {
    const known = after([5, 6], 15);
    expect(after([50, 60], 15, known)).toEqual(known);
  });

  it("keeps as many steps as it may, and every request that began in known steps", () => {
    const load = fc.integer({ min: 0, max: 9_999 });
    fc.assert(
      fc.property(fc.array(load, { maxLength: 1_500 }), (loads) => {
        const { values } = after(loads, 15);
        expect(values).toEqual(loads.slice(-RESOLUTIONS[0].most));
      }),
      { numRuns: 10 },
    );
  });
});

describe("a series that is given the load of a time before", () => {
  const past = (loads: readonly number[], seconds: number, startMs = START_MS) =>
    loads.map((perSecond, at) => ({
      startMs: startMs + 1e3 * seconds * at,
      endMs: startMs + 1e3 * seconds * (at + 1),
      perSecond,
    }));

  it("is the same as one that measured it all", () => {
    const load = fc.integer({ min: 1, max: 9_999 });
    fc.assert(
      fc.property(fc.array(load, { minLength: 2, maxLength: 900 }), fc.nat(899), (loads, cut) => {
        const begins = cut % loads.length;
        const own = after(loads.slice(begins), 15, quarter(), START_MS + 15_000 * begins);
        expect(withPastLoad(own, past(loads, 15))).toEqual(after(loads, 15));
      }),
      { numRuns: 30 },
    );
  });

  it("keeps what it knows itself, and does not know the time between", () => {
    const own = after([7, 8], 15, quarter(), START_MS + 90_000);
    expect(withPastLoad(own, past([3, 4, 9], 30)).values).toEqual([3, 3, 4, 4, 9, 9, 7, 8]);
    expect(withPastLoad(own, past([3], 30)).values).toEqual([3, 3, null, null, null, null, 7, 8]);
    expect(withPastLoad(own, past([3], 30, START_MS + 90_000))).toEqual(own);
    expect(withPastLoad(own, past([3], 30, START_MS - 1e12)).values.slice(-3)).toEqual([null, 7, 8]);
  });
});
