import {
  emptyForesight,
  foresee,
  ForesightState,
  observe,
  withPast,
} from "@tradewind/predictor/forecast/foresight.ts";
import type { Foreseen } from "@tradewind/predictor/forecast/foresight.ts";
import { describe, expect, it } from "vitest";
import { START_MS } from "../measurements.ts";

const REACH = { reachMs: 120_000, holdMs: 300_000 };

/** After windows until a second, with the load of each by its start; `undefined` for none. */
function until(
  seconds: number,
  load: (second: number) => number | undefined,
  { from = 0, state = emptyForesight(), windowSeconds = 15 } = {},
): ForesightState {
  let now = state;
  for (let at = from; at < seconds; at += windowSeconds) {
    const perSecond = load(at);
    const startMs = START_MS + 1e3 * at;
    if (perSecond !== undefined)
      now = observe(now, { startMs, endMs: startMs + 1e3 * windowSeconds, perSecond }, REACH);
  }
  return now;
}

const seen = (seconds: number, load: (second: number) => number | undefined): Foreseen | undefined =>
  foresee(until(seconds, load), REACH);

/** Every half hour five times the load for four minutes, first after 15 minutes. */
const rush = (second: number): number => {
  const into = second % 1_800;
  return into >= 900 && into < 1_140 ? 100 : 20;
};

describe("a season of the load", () => {
  it("says a rush before it comes, two seasons after the start", () => {
    // The fourth rush begins at 6,300 s; the reach ends 120 s ahead and a season may come a step early.
    expect(seen(6_120, rush)?.perSecond).toBeCloseTo(20, 6);
    expect(seen(6_210, rush)).toMatchObject({ perSecond: 100, seasonSeconds: 1_800 });
  });

  it("lets the load of the last minutes go once it is over", () => {
    expect(seen(6_600, rush)?.perSecond).toBeCloseTo(20, 6);
  });

  it("is not used before it has been seen twice", () => {
    expect(seen(3_540, rush)).toBeUndefined();
    expect(seen(3_660, rush)).toBeDefined();
  });

  it("is in use with the first load after two seasons of the past were read back", () => {
    const past = Array.from({ length: 102 }, (_, minute) => ({
      startMs: START_MS + 60_000 * minute,
      endMs: START_MS + 60_000 * (minute + 1),
      perSecond: rush(60 * minute),
    }));
    const state = withPast(emptyForesight(), past);
    expect(foresee(state, REACH)).toBeUndefined();
    const live = until(6_210, rush, { from: 6_195, state });
    expect(foresee(live, REACH)).toMatchObject({ perSecond: 100, seasonSeconds: 1_800 });
  });

  it("says nothing while load comes that it did not say, nor for the hold time after", () => {
    const surprise = (at: number): number => (at >= 5_700 && at < 5_730 ? 60 : rush(at));
    expect(seen(5_730, surprise)).toBeUndefined();
    expect(seen(5_940, surprise)).toBeUndefined();
    expect(seen(6_060, surprise)).toBeDefined();
  });

  it("is given up when it stops", () => {
    const stops = (at: number): number => (at < 7_200 ? rush(at) : 20);
    expect(seen(8_000, stops)?.perSecond).toBe(100);
    expect(seen(10_800, stops)?.perSecond ?? 20).toBeLessThan(40);
  });

  it("gives way to the load of late when clocks are put forward, and is used again three days later", () => {
    const changedAt = 6 * 86_400;
    const busy = (second: number): boolean => second % 86_400 >= 28_800 && second % 86_400 < 64_800;
    const load = (at: number): number => (busy(at < changedAt ? at : at + 3_600) ? 100 : 20);
    // At 6:55 of the old time the load is about to rise, which it has done at 8:00 so far.
    // Steps of five minutes alone: the day is found in them.
    let [state, from] = [emptyForesight().slice(1, 2), 0];
    const foreseen = (days: number): number => {
      const seconds = days * 86_400 + 6 * 3_600 + 3_300;
      state = until(seconds, load, { from, state, windowSeconds: 300 });
      from = seconds;
      return foresee(state, REACH)?.perSecond ?? Number.NaN;
    };
    expect(foreseen(6)).toBeLessThan(30);
    expect(foreseen(7)).toBeNaN();
    expect(foreseen(9)).toBeGreaterThan(60);
  });

  it("is the same after it has been written and read", () => {
    const state = until(4_000, rush);
    expect(ForesightState.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
  });

  it("keeps its place over a gap in the windows", () => {
    const gap = (at: number): number | undefined => (at >= 4_800 && at < 5_700 ? undefined : rush(at));
    expect(foresee(until(6_210, gap), REACH)?.perSecond).toBe(100);
  });
});
