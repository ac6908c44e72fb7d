import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InterferenceTrace } from "@tradewind/predictor/sources/interference-trace.ts";

/** The integral of a ratio that is 0.1 at first and 0.7 from `turnMs` on. */
const integral = (atMs: number, turnMs: number): number =>
  (0.1 * Math.min(atMs, turnMs) + 0.7 * Math.max(0, atMs - turnMs)) / 1e3;

describe("the trace of interference", () => {
  it("tells the mean of a window between the looks around its ends", () => {
    const trace = new InterferenceTrace(35);
    trace.add(0, { cpu: 0 });
    trace.add(10_000, { cpu: 1 });
    trace.add(30_000, { cpu: 13 });
    expect(trace.mean("cpu", 0, 10_000)).toBeCloseTo(0.1, 9);
    // 5 s at 0.1 and 10 s at 0.6.
    expect(trace.mean("cpu", 5_000, 20_000)).toBeCloseTo(0.5 / 15 + 6 / 15, 9);
    expect(trace.mean("network", 0, 10_000)).toBeUndefined();
  });

  it("says nothing of a window that it hardly saw", () => {
    const trace = new InterferenceTrace(35);
    trace.add(10_000, { cpu: 1 });
    expect(trace.mean("cpu", 0, 15_000)).toBeUndefined();
    trace.add(14_000, { cpu: 3 });
    expect(trace.mean("cpu", 0, 15_000)).toBeUndefined();
    expect(trace.mean("cpu", 9_000, 15_000)).toBeCloseTo(0.5, 9);
  });

  it("ignores looks that come out of order", () => {
    const trace = new InterferenceTrace(35);
    trace.add(10_000, { cpu: 1 });
    trace.add(5_000, { cpu: 9 });
    trace.add(20_000, { cpu: 2 });
    expect(trace.mean("cpu", 10_000, 20_000)).toBeCloseTo(0.1, 9);
  });

  it("keeps looks over the whole time it is made for, however often they come", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 50, max: 5_000 }),
        fc.integer({ min: 0, max: 600_000 }),
        (everyMs, turnMs) => {
          const trace = new InterferenceTrace(35);
          for (let atMs = 0; atMs <= 600_000; atMs += everyMs)
            trace.add(atMs, { cpu: integral(atMs, turnMs) });
          const mean = trace.mean("cpu", 566_000, 581_000);
          const truth = (integral(581_000, turnMs) - integral(566_000, turnMs)) / 15;
          // The turn may lie between two looks that are kept.
          expect(Math.abs((mean ?? Number.NaN) - truth)).toBeLessThan(0.6 * (5 / 15) + 1e-9);
        },
      ),
    );
  });
});
