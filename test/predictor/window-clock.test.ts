import { systemClock } from "@tradewind/core/clock.ts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WindowClock } from "@tradewind/predictor/window-clock.ts";

const T = 1_750_000_005_000;

beforeEach(() => {
  vi.useFakeTimers({ now: T + 3_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function start(): { clock: WindowClock; closed: { startMs: number; endMs: number; atMs: number }[] } {
  const closed: { startMs: number; endMs: number; atMs: number }[] = [];
  const clock = new WindowClock({
    windowSeconds: 15,
    graceSeconds: 5,
    clock: systemClock,
    onClose: (startMs, endMs) => closed.push({ startMs, endMs, atMs: Date.now() }),
  });
  clock.start();
  return { clock, closed };
}

describe("the window clock", () => {
  it("closes aligned windows, the first one that was seen whole, each once its grace is over", () => {
    const { closed } = start();
    vi.advanceTimersByTime(31_999);
    expect(closed).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(closed).toEqual([{ startMs: T + 15_000, endMs: T + 30_000, atMs: T + 35_000 }]);
    vi.advanceTimersByTime(30_000);
    expect(closed.map(({ startMs }) => startMs)).toEqual([T + 15_000, T + 30_000, T + 45_000]);
  });

  it("notices within a second that the wall clock was set forward", () => {
    const { closed } = start();
    vi.setSystemTime(T + 40_000);
    vi.advanceTimersByTime(1_000);
    expect(closed).toHaveLength(1);
  });

  it("closes no window twice when the wall clock is set back", () => {
    const { closed } = start();
    vi.advanceTimersByTime(32_000);
    vi.setSystemTime(T + 10_000);
    vi.advanceTimersByTime(45_000);
    expect(closed.map(({ startMs }) => startMs)).toEqual([T + 15_000, T + 30_000]);
  });

  it("skips what nobody measured after a long standstill", () => {
    const { closed } = start();
    vi.advanceTimersByTime(32_000);
    vi.setSystemTime(T + 10_000_000);
    vi.advanceTimersByTime(1_000);
    expect(closed.length).toBeLessThanOrEqual(4);
    expect(closed.at(-1)!.endMs).toBeGreaterThan(T + 10_000_000 - 35_000);
  });

  it("closes nothing after it was stopped", () => {
    const { clock, closed } = start();
    clock.stop();
    vi.advanceTimersByTime(100_000);
    expect(closed).toEqual([]);
  });
});
