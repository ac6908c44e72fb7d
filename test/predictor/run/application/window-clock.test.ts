import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WindowClock } from "@tradewind/predictor/run/application/window-clock.ts";
import type { ClosedWindow } from "@tradewind/predictor/run/application/window-clock.ts";
import { ManualClock } from "../../../manual-clock.ts";

const T = 1_750_000_005_000;

beforeEach(() => {
  vi.useFakeTimers({ now: T + 3_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

function start() {
  const time = new ManualClock();
  const closed: (ClosedWindow & { atMs: number })[] = [];
  const steps: number[] = [];
  const clock = new WindowClock({
    windowSeconds: 15,
    graceSeconds: () => 5,
    clock: time,
    onClose: (window) => closed.push({ ...window, atMs: time.monotonicMs() }),
    onStep: (stepMs) => steps.push(stepMs),
  });
  clock.start();
  return { clock, closed, steps, time, startMs: time.monotonicMs() };
}

const startsOf = (closed: readonly ClosedWindow[]): number[] => closed.map(({ startMs }) => startMs - T);

describe("the window clock", () => {
  it("closes aligned windows, the first one that was seen whole, each once its grace is over", () => {
    const { closed, startMs, time } = start();
    time.pass(31_999);
    expect(closed).toEqual([]);
    time.pass(1);
    expect(closed).toMatchObject([
      { startMs: T + 15_000, endMs: T + 30_000, repeated: false, stoodStillMs: 0 },
    ]);
    expect(closed[0]).toMatchObject({ fromMs: startMs + 12_000, toMs: startMs + 27_000 });
    time.pass(30_000);
    expect(startsOf(closed)).toEqual([15_000, 30_000, 45_000]);
  });

  it("goes on at its pace when the wall clock is set back, and says of windows that their time was there before", () => {
    const { closed, startMs, steps, time } = start();
    time.pass(62_000);
    expect(startsOf(closed)).toEqual([15_000, 30_000, 45_000]);
    time.set(-60_000);
    time.pass(120_000);
    expect(steps).toEqual([-60_000]);
    const after = closed.slice(3);
    expect(startsOf(after)).toEqual([15_000, 30_000, 45_000, 60_000, 75_000, 90_000, 105_000]);
    expect(after.map(({ repeated }) => repeated)).toEqual([true, true, true, false, false, false, false]);
    // Two windows and the grace are the longest time without one.
    const gaps = closed.slice(1).map(({ atMs }, index) => atMs - closed[index]!.atMs);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * 15_000 + 5_000);
    expect(after.map(({ toMs }) => toMs - startMs)).toEqual(
      [87, 102, 117, 132, 147, 162, 177].map((s) => 1e3 * s),
    );
  });

  it("goes on at its pace when the wall clock is set forward, with later labels and no window twice", () => {
    const { closed, steps, time } = start();
    time.pass(32_000);
    time.set(600_000);
    time.pass(60_000);
    expect(steps).toEqual([600_000]);
    expect(startsOf(closed)).toEqual([15_000, 645_000, 660_000, 675_000]);
    expect(closed.map(({ repeated }) => repeated)).toEqual([false, false, false, false]);
    for (const { endMs, fromMs, startMs, toMs } of closed) expect(toMs - fromMs).toBe(endMs - startMs);
  });

  it("labels the time as new that was skipped by mistake and comes after the clock was set right", () => {
    const { closed, time } = start();
    time.set(86_400_000);
    time.pass(60_000);
    time.set(-86_400_000);
    time.pass(60_000);
    const labels = closed.map(({ startMs }) => startMs);
    expect(new Set(labels).size).toBe(labels.length);
    expect(closed.some(({ repeated }) => repeated)).toBe(false);
    expect(labels.at(-1)).toBeLessThan(T + 200_000);
  });

  it("goes on while the wall clock is set again and again", () => {
    const { closed, time } = start();
    for (let round = 0; round < 60; round += 1) {
      time.pass(5_000);
      time.set(round % 2 === 0 ? 120_000 : -120_000);
    }
    expect(closed.length).toBeGreaterThanOrEqual(6);
  });

  it("tells what was decided before the wall clock was set from what came after", () => {
    const { clock, closed, time } = start();
    time.pass(32_000);
    expect(clock.isCurrent(closed[0]!)).toBe(true);
    time.set(-120_000);
    time.pass(1_000);
    expect(clock.isCurrent(closed[0]!)).toBe(false);
  });

  it("skips what nobody measured after a long standstill, and says of windows that it stood still in them", () => {
    const { closed, time } = start();
    time.pass(32_000);
    vi.spyOn(time, "monotonicMs").mockImplementation(() => performance.now() + 10_000_000);
    time.set(10_000_000);
    time.pass(1_000);
    expect(closed.length).toBeLessThanOrEqual(4);
    expect(closed.at(-1)!.endMs).toBeGreaterThan(T + 10_000_000 - 35_000);
    expect(closed.at(-1)!.stoodStillMs).toBeGreaterThan(9_000_000);
    time.pass(60_000);
    expect(closed.at(-1)!.stoodStillMs).toBe(0);
  });

  it("closes nothing after it was stopped", () => {
    const { clock, closed, time } = start();
    clock.stop();
    time.pass(100_000);
    expect(closed).toEqual([]);
  });
});
