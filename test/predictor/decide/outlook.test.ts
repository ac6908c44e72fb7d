import {
  emptyOutlook,
  HOLD_MS,
  observeLoad,
  outlookOf,
  OutlookState,
} from "@tradewind/predictor/decide/cost/learn/outlook.ts";
import type { LoadOutlook } from "@tradewind/predictor/decide/cost/learn/outlook.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { START_MS } from "../measurements.ts";

const HORIZON_MS = 75_000;

/** After these loads, one a window; each window counts `rate · seconds · counted` requests. */
function after(loads: readonly number[], windowSeconds = 15, counted = 1): OutlookState {
  let state = emptyOutlook();
  for (const [at, perSecond] of loads.entries()) {
    const endMs = START_MS + 1e3 * windowSeconds * (at + 1);
    const point = { endMs, perSecond, count: Math.round(perSecond * windowSeconds * counted) };
    state = observeLoad(state, point, {
      windowMs: 1e3 * windowSeconds,
      horizonMs: HORIZON_MS,
      holdMs: HOLD_MS,
    });
  }
  return state;
}

const outlook = (state: OutlookState, surgeRatio = 1): LoadOutlook =>
  outlookOf(state, { horizonMs: HORIZON_MS, holdMs: HOLD_MS, surgeRatio, usesSeasons: true });
const times = (count: number, load: number): number[] => Array.from({ length: count }, () => load);

describe("the load outlook", () => {
  it("expects no more than what arrives when the load has been steady, and becomes certain of it", () => {
    const early = outlook(after(times(10, 40)));
    const late = outlook(after(times(100, 40)));
    expect(late.ratio).toBeCloseTo(1, 9);
    expect(late.mostRatio).toBeCloseTo(1, 9);
    expect(late.sigma).toBeLessThan(0.05);
    expect(late.sigma).toBeLessThan(early.sigma);
  });

  it("extends a line of rising load by the time that pods take to start, damped by the time that it is fitted to", () => {
    // 0.1 requests per second more each second: 110 now, and as much more in 75 s as in 90·(1 − exp(−75/90)) = 50.886 s at this pace.
    const rising = outlook(after(Array.from({ length: 61 }, (_, at) => 20 + 1.5 * at)));
    expect(rising.forecast).toBe("line");
    expect(rising.ratio).toBeCloseTo(115.0886 / 110, 5);
  });

  it.each([1, 2, 3, 4])("takes a step of the load for a new level, %i windows after it", (windows) => {
    const rising = after(Array.from({ length: 40 }, (_, at) => 20 + 1.5 * at));
    const stepped = after([...times(60, 30), ...times(windows, 150)]);
    // A line was the nearest forecast of late.
    const { ratio } = outlook({ ...stepped, errors: rising.errors });
    expect(ratio).toBeCloseTo(1, 9);
  });

  it("goes on with the line through a rise that chance moves up and down", () => {
    const loads = Array.from({ length: 60 }, (_, at) => 20 + 1.5 * at + (at % 2 === 0 ? 0.5 : -0.5));
    const { forecast, ratio } = outlook(after(loads));
    expect(forecast).toBe("line");
    expect((ratio * (loads.at(-1) ?? 0)) / 108.5).toBeGreaterThan(1.01);
  });

  it("believes the highest forecast until forecasts have been judged", () => {
    const rising = outlook(after(Array.from({ length: 6 }, (_, at) => 20 + 1.5 * at)));
    expect(rising.ratio).toBeCloseTo(32.5886 / 27.5, 5);
  });

  it("keeps the top of a wave after its turn for three minutes, and no longer", () => {
    const up = Array.from({ length: 30 }, (_, at) => 20 + 2 * at);
    const down = Array.from({ length: 10 }, (_, at) => 78 - 2 * (at + 1));
    const turned = outlook(after([...up, ...down]));
    // The highest two windows in a row: 78 and 76.
    expect(turned.ratio * 58).toBeCloseTo(77, 6);
    const gone = outlook(after([...up, ...down, ...times(25, 58)]));
    expect(gone.ratio).toBeLessThan(1.05);
  });

  it.each([1, 15])("holds a level that lasted a minute for three minutes, in windows of %s s", (seconds) => {
    const minute = 60 / seconds;
    const burst = [...times(5 * minute, 40), ...times(minute, 80)];
    expect(outlook(after([...burst, ...times(2 * minute, 40)], seconds)).ratio).toBeCloseTo(2, 6);
    expect(outlook(after([...burst, ...times(4 * minute, 40)], seconds)).ratio).toBeLessThan(1.01);
  });

  it("forgets requests that came again once none fail: 3 times the load for 5 windows, then the load before", () => {
    const storm = (state: OutlookState, perSecond: number, at: number, isFailing: boolean): OutlookState =>
      observeLoad(
        state,
        {
          endMs: START_MS + 15_000 * at,
          perSecond,
          count: 15 * perSecond,
          ...(isFailing && { isFailing }),
        },
        { windowMs: 15_000, horizonMs: HORIZON_MS, holdMs: HOLD_MS },
      );
    const calm = after(times(40, 60));
    let state = calm;
    for (let at = 41; at <= 45; at += 1) state = storm(state, 180, at, true);
    expect(outlook(state).ratio * 180).toBeGreaterThanOrEqual(180);
    state = storm(state, 60, 46, false);
    expect(outlook(state)).toEqual(outlook(storm(calm, 60, 46, false)));
  });

  it("does not hold a level that so few requests made that chance explains it", () => {
    const loads = [...times(60, 0.2), 0.6, 0.2];
    expect(outlook(after(loads)).ratio).toBeLessThan(1.1);
    expect(outlook(after(loads, 15, 100)).ratio).toBeCloseTo(2, 6);
  });

  it("takes no swing for load that chance makes of nine requests a window", () => {
    const few = after([...times(59, 40), 13], 15, 0.015);
    expect(few.points.at(-1)?.count).toBe(3);
    const { levelRatio, ratio } = outlook(few);
    expect(13 * ratio).toBeLessThan(1.15 * 40);
    expect(levelRatio).toBeLessThan(1.2);
    expect(outlook(after([...times(59, 40), 67], 15, 0.015)).ratio * 67).toBeLessThan(1.15 * 40);
  });

  it("takes at once what is more than chance makes of nine requests a window", () => {
    const risen = outlook(after([...times(59, 40), 160], 15, 0.015));
    expect(risen.ratio).toBeGreaterThanOrEqual(1);
    expect(risen.levelRatio).toBeGreaterThanOrEqual(1);
  });

  it("expects at least what requests have begun at since the window", () => {
    expect(outlook(after(times(40, 40)), 2.5).ratio).toBe(2.5);
    expect(outlook(emptyOutlook(), 2.5).ratio).toBe(2.5);
  });

  it("reckons with the highest load of the last hours, of which half is forgotten in one", () => {
    const peak = after([...times(10, 120), ...times(240, 40)]);
    expect(outlook(peak).ratio).toBeLessThan(1.01);
    expect(outlook(peak).mostRatio).toBeCloseTo(1.5, 2);
  });

  it("tells the usual load, which a surge is above until it has lasted", () => {
    expect(outlook(after([...times(40, 50), ...times(10, 125)])).usualRatio).toBeCloseTo(0.4, 9);
    expect(outlook(after([...times(40, 50), ...times(60, 125)])).usualRatio).toBe(1);
  });

  it("is ready for a rush that comes every half hour before it comes, and lets go after it", () => {
    const rush = (at: number): number => (at % 120 >= 60 && at % 120 < 76 ? 100 : 20);
    const at = (windows: number): LoadOutlook =>
      outlook(after(Array.from({ length: windows }, (_, window) => rush(window))));
    // The next rush begins with window 420: pods take 75 s, and two minutes more are looked ahead.
    expect(at(400)).toMatchObject({ forecast: "season", ratio: 1 });
    expect(at(412)).toMatchObject({ forecast: "season", ratio: 5 });
    expect(at(450)).toMatchObject({ forecast: "season", ratio: 1 });
  });

  it("begins without seasons where the state on disk knows none, or cannot be read", () => {
    const { foresight, ...old } = after(times(10, 40));
    expect(OutlookState.parse(old).foresight).toEqual(emptyOutlook().foresight);
    expect(OutlookState.parse({ ...old, foresight: "?" }).foresight).toEqual(emptyOutlook().foresight);
    expect(OutlookState.parse({ ...old, foresight }).foresight).toEqual(foresight);
  });

  it("is never below the load of now and always finite, whatever the loads and counts", () => {
    const load = fc.oneof(
      fc.double({ min: 1e-6, max: 1e6, noNaN: true }),
      fc.constantFrom(1e-9, 1e9, 0.1, 1000),
    );
    fc.assert(
      fc.property(
        fc.array(load, { minLength: 1, maxLength: 80 }),
        fc.constantFrom(1, 15),
        (loads, seconds) => {
          const { levelRatio, mostRatio, ratio, sigma } = outlook(after(loads, seconds));
          expect(levelRatio).toBeGreaterThanOrEqual(1);
          expect(mostRatio).toBeGreaterThanOrEqual(ratio);
          for (const each of [ratio, sigma, mostRatio]) expect(each).toSatisfy(Number.isFinite);
        },
      ),
    );
  });
});
