import { AgeClock, noSteps, SteppedClock } from "@tradewind/core/process/clock.ts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../../manual-clock.ts";

const T = 1_750_000_000_000;

beforeEach(() => {
  vi.useFakeTimers({ now: T });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("wall time that passes as monotonic time does", () => {
  it("follows drift and slewing, which are no steps", () => {
    const wall = new ManualClock();
    const clock = new SteppedClock(wall, 10_000);
    for (let second = 0; second < 100; second += 1) {
      wall.pass(1_000);
      wall.set(80);
      expect(clock.look()).toBe(0);
    }
    expect(clock.nowMs()).toBe(T + 108_000);
  });

  it.each([-120_000, -1_000, 1_000, 600_000])(
    "tells a step of %i ms once and goes on from there",
    (stepMs) => {
      const wall = new ManualClock();
      const clock = new SteppedClock(wall, 10_000);
      wall.pass(5_000);
      wall.set(stepMs);
      expect(clock.nowMs()).toBe(T + 5_000);
      expect(clock.look()).toBe(stepMs);
      expect(clock.look()).toBe(0);
      wall.pass(1_000);
      expect(clock.nowMs()).toBe(T + 6_000 + stepMs);
    },
  );

  it("follows a further step only after the gap, so that a clock that is set all the time does not stop it", () => {
    const wall = new ManualClock();
    const clock = new SteppedClock(wall, 10_000);
    wall.set(60_000);
    expect(clock.look()).toBe(60_000);
    wall.pass(5_000);
    wall.set(-60_000);
    expect(clock.look()).toBe(0);
    expect(clock.nowMs()).toBe(T + 65_000);
    wall.pass(5_000);
    expect(clock.look()).toBe(-60_000);
    expect(clock.nowMs()).toBe(T + 10_000);
  });
});

describe("monotonic time for ages", () => {
  it.each([
    ["a suspend of ten hours", [36_000_000], 36_000_000],
    ["a wall clock set back", [-3_600_000], 0],
    ["a suspend after which the wall clock is set back", [36_000_000, -36_000_000], 36_000_000],
    ["two suspends", [5_000, -60_000, 7_000], 12_000],
    ["drift", Array.from({ length: 100 }, () => 9), 0],
  ])("passes through %s", (_what, stepsMs, ageMs) => {
    const wall = new ManualClock();
    const clock = new AgeClock(wall, noSteps());
    const decidedMs = clock.monotonicMs();
    let passedMs = 0;
    for (const stepMs of stepsMs) {
      wall.set(stepMs);
      wall.pass(1_000);
      passedMs += 1_000;
      expect(clock.monotonicMs() - decidedMs).toBeGreaterThanOrEqual(passedMs);
    }
    expect(clock.monotonicMs() - decidedMs).toBeCloseTo(passedMs + ageMs);
  });

  it("is the same in every thread, whichever looks first after a step", () => {
    const [wall, steps] = [new ManualClock(), noSteps()];
    const first = new AgeClock(wall, steps);
    wall.set(10_000);
    first.monotonicMs();
    const second = new AgeClock(wall, steps);
    for (const [early, late] of [
      [first, second],
      [second, first],
    ] as const) {
      wall.set(60_000);
      expect(early.monotonicMs()).toBe(late.monotonicMs());
    }
    expect(first.monotonicMs() - wall.monotonicMs()).toBe(130_000);
  });
});
