import { SteppedClock } from "@tradewind/core/clock.ts";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ManualClock } from "../manual-clock.ts";

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
