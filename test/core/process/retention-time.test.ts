import { describe, expect, it } from "vitest";
import { RetentionTime } from "@tradewind/core/process/retention-time.ts";

const DAY_MS = 86_400_000;

/** A clock that is set by hand: `at` is the wall time, `ran` the monotonic one. */
function handSet(at: number, ran: number) {
  const clock = { at, ran, nowMs: () => clock.at, monotonicMs: () => clock.ran };
  return clock;
}

describe("the time that retention goes by", () => {
  it("is wall time while that passes as time does", () => {
    const clock = handSet(100 * DAY_MS, 5_000);
    const time = new RetentionTime(clock);
    clock.at += 3 * DAY_MS;
    clock.ran += 3 * DAY_MS;
    expect(time.nowMs()).toBe(103 * DAY_MS);
  });

  it("does not delete the history when the wall clock is set ten years ahead", () => {
    const clock = handSet(100 * DAY_MS, 5_000);
    const time = new RetentionTime(clock);
    clock.at += 3_650 * DAY_MS;
    clock.ran += 60_000;
    expect(time.nowMs()).toBe(101 * DAY_MS + 60_000);
  });

  it("follows a wall clock that is set back, which deletes less", () => {
    const clock = handSet(100 * DAY_MS, 5_000);
    const time = new RetentionTime(clock);
    clock.at -= DAY_MS;
    expect(time.nowMs()).toBe(99 * DAY_MS);
  });
});
