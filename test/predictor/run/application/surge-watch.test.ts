import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { countArrivals, SurgeWatch } from "@tradewind/predictor/run/application/surge-watch.ts";
import { ArrivalCounter } from "@tradewind/predictor/window/arrival-counter.ts";
import { intervalAt } from "@tradewind/predictor/window/interval.ts";
import type { Interval } from "@tradewind/predictor/window/interval.ts";
import { batchOf, T0, traceOf } from "../../window/traced.ts";

beforeEach(() => {
  vi.useFakeTimers({ now: T0 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Windows of 5 s; each is known a second after its end. */
function watching(): {
  told: { ratio: number; atMs: number }[];
  pass: (seconds: number, perSecond: number) => void;
} {
  const arrivals = new ArrivalCounter({ services: () => ["frontend"], slotMs: 250, keepMs: 16_000 });
  const told: { ratio: number; atMs: number }[] = [];
  let known: Interval | undefined;
  const watch = new SurgeWatch({
    arrivals,
    lastWindow: () => known,
    onSurge: (ratio) => told.push({ ratio, atMs: Date.now() - T0 }),
    graceMs: 1_000,
    clock: systemClock,
  });
  watch.start();
  const pass = (seconds: number, perSecond: number): void => {
    for (let left = seconds * perSecond; left > 0; left -= 1) {
      vi.advanceTimersByTime(1e3 / perSecond);
      const at = Date.now() - T0;
      arrivals.add(batchOf(traceOf({ service: "frontend", kind: "server", at, for: 1 })), Date.now());
      const { startMs } = intervalAt(Date.now() - 1_000, 5);
      known = { startMs: startMs - 5_000, endMs: startMs };
    }
  };
  return { told, pass };
}

describe("the watch for surges", () => {
  it("tells of a surge once, before the window in which it begins is over", () => {
    const { told, pass } = watching();
    pass(11, 10);
    expect(told).toEqual([]);
    pass(4, 40);
    expect(told).toHaveLength(1);
    expect(told[0]?.ratio).toBeGreaterThan(2);
    expect(told[0]?.atMs).toBeLessThan(13_000);
  });

  it("tells of it again where load rises further", () => {
    const { told, pass } = watching();
    pass(11, 10);
    pass(2, 40);
    pass(2, 200);
    expect(told.length).toBeGreaterThanOrEqual(2);
    expect(told.at(-1)!.ratio).toBeGreaterThan(2 * told[0]!.ratio);
  });

  it("tells the plan of a window what has come since, and then only of what is more (surge-taken-back)", () => {
    const arrivals = new ArrivalCounter({ services: () => ["frontend"], slotMs: 250, keepMs: 16_000 });
    const window = { startMs: T0, endMs: T0 + 5_000 };
    const onSurge = vi.fn<(ratio: number) => void>();
    const watch = new SurgeWatch({
      arrivals,
      lastWindow: () => window,
      onSurge,
      graceMs: 1_000,
      clock: systemClock,
    });
    const pass = (seconds: number, perSecond: number): void => {
      for (let left = seconds * perSecond; left > 0; left -= 1) {
        vi.advanceTimersByTime(1e3 / perSecond);
        const at = Date.now() - T0;
        arrivals.add(batchOf(traceOf({ service: "frontend", kind: "server", at, for: 1 })), Date.now());
      }
    };
    pass(5, 10);
    expect(watch.since(window)).toBeUndefined();
    pass(2, 40);
    expect(watch.since(window)).toBeGreaterThan(2);
    watch.look();
    expect(onSurge).not.toHaveBeenCalled();
    pass(2, 200);
    watch.look();
    expect(onSurge).toHaveBeenCalledTimes(1);
  });

  it.each([
    {
      graceMs: 1_000,
      calls: 0,
      why: "is silent once windows no longer come: what was usual then is not now",
    },
    { graceMs: 20_000, calls: 1, why: "goes on while a window is late only because sources are waited for" },
  ])("$why", ({ calls, graceMs }) => {
    const arrivals = new ArrivalCounter({ services: () => ["frontend"], slotMs: 250, keepMs: 60_000 });
    const onSurge = vi.fn<(ratio: number) => void>();
    const lastWindow = () => ({ startMs: T0, endMs: T0 + 5_000 });
    const watch = new SurgeWatch({ arrivals, lastWindow, onSurge, graceMs, clock: systemClock });
    watch.start();
    const begin = (atMs: number, count: number): void => {
      const one = { service: "frontend", kind: "server", at: atMs, for: 1 } as const;
      arrivals.add(batchOf(Array.from({ length: count }, () => traceOf(one)).flat()), Date.now());
    };
    vi.advanceTimersByTime(4_000);
    begin(3_000, 20);
    vi.advanceTimersByTime(20_000);
    begin(23_000, 500);
    vi.advanceTimersByTime(5_000);
    expect(onSurge).toHaveBeenCalledTimes(calls);
    watch.stop();
    begin(29_000, 50_000);
    vi.advanceTimersByTime(5_000);
    expect(onSurge).toHaveBeenCalledTimes(calls);
  });

  it("takes steady load for no surge while a window grows old, up to the last moment at which it counts", () => {
    const arrivals = countArrivals(() => ["frontend"], { graceMs: 1_000, windowMs: 5_000 });
    const onSurge = vi.fn<(ratio: number) => void>();
    const lastWindow = () => ({ startMs: T0, endMs: T0 + 5_000 });
    const watch = new SurgeWatch({ arrivals, lastWindow, onSurge, graceMs: 1_000, clock: systemClock });
    watch.start();
    for (let at = 0; at < 25_000; at += 20) {
      arrivals.add(batchOf(traceOf({ service: "frontend", kind: "server", at, for: 1 })), Date.now());
      vi.advanceTimersByTime(20);
    }
    watch.stop();
    expect(onSurge).not.toHaveBeenCalled();
  });
});
