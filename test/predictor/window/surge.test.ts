import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seededRng } from "@tradewind/core/values/rng.ts";
import { surgeSince } from "@tradewind/predictor/window/surge.ts";
import type { CountedArrivals } from "@tradewind/predictor/window/surge.ts";

const WINDOW = { startMs: 100_000, endMs: 105_000 };
const SLOT_MS = 250;

/** Requests that begin at these times, all of them known at once. */
function began(atMs: readonly number[], each = 1): CountedArrivals {
  return {
    slotMs: SLOT_MS,
    between: (fromMs, toMs) => {
      const spans = atMs.filter((at) => at >= fromMs && at < toMs).length;
      return { spans, requests: each * spans };
    },
  };
}

/** Evenly spaced from one time to another. */
const evenly = (fromMs: number, toMs: number, perSecond: number): number[] =>
  Array.from(
    { length: Math.round(((toMs - fromMs) / 1e3) * perSecond) },
    (_, at) => fromMs + (at * 1e3) / perSecond,
  );

function poisson(fromMs: number, toMs: number, perSecond: number, rng: () => number): number[] {
  const times: number[] = [];
  for (let at = fromMs; ; times.push(at)) {
    at -= (1e3 * Math.log(1 - rng())) / perSecond;
    if (at >= toMs) return times;
  }
}

describe("a surge since the last window", () => {
  it("is what began since over what began in it, as soon as a fifth of a window tells it", () => {
    const arrivals = began([...evenly(100_000, 105_000, 10), ...evenly(105_000, 110_000, 40)]);
    expect(surgeSince(WINDOW, 105_500, arrivals)).toBeUndefined();
    expect(surgeSince(WINDOW, 106_000, arrivals)).toBeCloseTo(4, 1);
  });

  it("is no surge where load rises by less than three tenths, however certainly", () => {
    const arrivals = began([...evenly(100_000, 105_000, 5_000), ...evenly(105_000, 110_000, 6_200)]);
    expect(surgeSince(WINDOW, 110_000, arrivals)).toBeUndefined();
  });

  it("is no surge where a handful of requests could be chance, nor after a window without any", () => {
    const few = began([...evenly(100_000, 105_000, 1), ...evenly(105_000, 106_000, 5)]);
    expect(surgeSince(WINDOW, 107_000, few)).toBeUndefined();
    expect(surgeSince(WINDOW, 110_000, began(evenly(105_000, 110_000, 100)))).toBeUndefined();
  });

  it("must be more than what is expected already", () => {
    const arrivals = began([...evenly(100_000, 105_000, 50), ...evenly(105_000, 110_000, 200)]);
    expect(surgeSince(WINDOW, 110_000, arrivals, 2)).toBeCloseTo(4, 1);
    expect(surgeSince(WINDOW, 110_000, arrivals, 3.5)).toBeUndefined();
  });

  it("does not find a burst that was over before the window ended", () => {
    const burst = evenly(103_500, 104_400, 60);
    const arrivals = began([...evenly(100_000, 110_000, 10), ...burst]);
    expect(surgeSince(WINDOW, 110_000, arrivals)).toBeUndefined();
  });

  it("judges by the spans it has seen, not by the requests that sampled ones stand for", () => {
    const times = [...evenly(100_000, 105_000, 1), ...evenly(105_000, 106_000, 5)];
    expect(surgeSince(WINDOW, 107_000, began(times, 100))).toBeUndefined();
  });

  it("is hardly ever seen where load is steady", () => {
    const rng = seededRng(5);
    let seen = 0;
    for (let run = 0; run < 400; run += 1) {
      const rate = 4 + 60 * rng();
      const arrivals = began(poisson(100_000, 111_000, rate, rng));
      for (let nowMs = 105_500; nowMs <= 111_000; nowMs += 500) {
        if (surgeSince(WINDOW, nowMs, arrivals) === undefined) continue;
        seen += 1;
        break;
      }
    }
    expect(seen).toBeLessThanOrEqual(4);
  });

  it("is seen within half a window where load triples, by requests that come at random", () => {
    const rng = seededRng(6);
    for (let run = 0; run < 100; run += 1) {
      const before = poisson(100_000, 105_000, 10, rng);
      const arrivals = began([...before, ...poisson(105_000, 110_000, 40, rng)]);
      expect(surgeSince(WINDOW, 107_500, arrivals)).toBeGreaterThan(1.3);
    }
  });

  it("is never less than it takes, whatever began when", () => {
    let seen = 0;
    const begins = (min: number, max: number, count: number) =>
      fc.array(fc.integer({ min, max }), { maxLength: count, size: "max" });
    fc.assert(
      fc.property(
        begins(100_000, 104_999, 60),
        begins(105_000, 108_000, 400),
        fc.integer({ min: 106_000, max: 109_000 }),
        fc.double({ min: 1, max: 4, noNaN: true }),
        (before, since, nowMs, expected) => {
          const ratio = surgeSince(WINDOW, nowMs, began([...before, ...since]), expected);
          if (ratio !== undefined) seen += 1;
          expect(ratio ?? Infinity).toBeGreaterThanOrEqual(1.3 * expected);
        },
      ),
      { seed: 1, numRuns: 200 },
    );
    expect(seen).toBeGreaterThan(50);
  });
});
