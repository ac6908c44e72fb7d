import { describe, expect, it } from "vitest";
import { PlanAge } from "@tradewind/exporter/plans/plan-age.ts";

const WINDOW_SECONDS = 15;

/** Wall clock and monotonic clock of an exporter, both set by hand. */
function watched() {
  const clock = { wall: 1_000_000_000, monotonic: 5_000 };
  const age = new PlanAge({
    clock: { nowMs: () => clock.wall, monotonicMs: () => clock.monotonic },
    staleAfterMs: 300_000,
    clockToleranceMs: 10_000,
  });
  const pass = (ms: number): void => {
    clock.wall += ms;
    clock.monotonic += ms;
  };
  const see = (sequence: number, aheadMs = 0, predictorStartedAtMs = 1): number =>
    age.see({
      sequence,
      predictorStartedAtMs,
      plannedAtMs: clock.wall + aheadMs,
      windowSeconds: WINDOW_SECONDS,
    });
  return { age, clock, pass, see };
}

describe("the age of a predictor's newest plan", () => {
  it("is counted on the monotonic clock from when it was made, whatever happens to the wall clock", () => {
    const { age, clock, pass, see } = watched();
    see(1, -3_000);
    expect(age.ageMs()).toBe(3_000);
    pass(20_000);
    clock.wall -= 3_600_000;
    expect(age.ageMs()).toBe(23_000);
    clock.wall += 7_200_000;
    age.seeAgain();
    expect(age.ageMs()).toBe(23_000);
  });

  it("is at most the time since the plan before it was still the newest, however slow the predictor's clock is", () => {
    const { age, pass, see } = watched();
    see(1, -100_000);
    expect(age.ageMs()).toBe(100_000);
    pass(14_000);
    age.seeAgain();
    pass(1_000);
    see(2, -100_000);
    expect(age.ageMs()).toBe(1_000);
  });

  it("is at least as long as its answer was on the way, though the wall clock was set back meanwhile", () => {
    const { age, clock, pass } = watched();
    const header = { sequence: 1, predictorStartedAtMs: 1, windowSeconds: WINDOW_SECONDS };
    const askedMs = clock.monotonic;
    const plannedAtMs = clock.wall;
    pass(200_000);
    clock.wall -= 205_000;
    age.see({ ...header, plannedAtMs }, askedMs);
    expect(age.ageMs()).toBe(200_000);
    // A plan that follows was not made before the answer in which the one before it was still the newest was asked for.
    pass(1_000);
    age.see({ ...header, sequence: 2, plannedAtMs: plannedAtMs + 201_000 }, clock.monotonic - 500);
    expect(age.ageMs()).toBe(500);
  });

  it("goes by the predictor's clock where the wall clock was set back while it was out of reach", () => {
    const { age, clock, pass, see } = watched();
    see(1);
    clock.wall -= 3_600_000;
    const plannedAtMs = clock.wall + 3_600_000 + 15_000;
    pass(200_000);
    age.see({ sequence: 2, predictorStartedAtMs: 1, windowSeconds: WINDOW_SECONDS, plannedAtMs });
    expect(age.ageMs()).toBe(185_000);
  });

  it("is the same for exporters that poll at different moments", () => {
    const ages = [1, 999].map((phaseMs) => {
      const { age, pass, see } = watched();
      pass(phaseMs);
      see(1, -phaseMs);
      pass(1_000 - phaseMs);
      return age.ageMs();
    });
    expect(ages).toEqual([1_000, 1_000]);
  });

  it("grows while the same plan comes again and again with a newer date (a frozen predictor)", () => {
    const { age, pass, see } = watched();
    see(7);
    pass(60_000);
    see(7);
    expect(age.ageMs()).toBe(60_000);
  });

  it("is overdue after two and a half windows, and with a window longer than plans live once the plan is stale", () => {
    const { age, pass, see } = watched();
    see(1);
    pass(37_500);
    expect(age.overdueMs()).toBeUndefined();
    pass(1);
    expect(age.overdueMs()).toBe(37_501);
    const header = { predictorStartedAtMs: 1, plannedAtMs: 1_000_000_000 + 37_501, windowSeconds: 1e9 };
    age.see({ ...header, sequence: 2 });
    pass(300_001);
    expect(age.overdueMs()).toBe(300_001);
  });
});

describe("a plan is refused", () => {
  it("when it is dated later than the tolerance allows, and the plan before it goes on ageing", () => {
    const { age, pass, see } = watched();
    see(1, 10_000);
    expect(age.ageMs()).toBe(0);
    pass(15_000);
    expect(() => see(2, 20_001)).toThrow(
      expect.objectContaining({
        code: "future",
        message: expect.stringMatching(/is dated 20 s after/) as string,
      }),
    );
    expect(age.ageMs()).toBe(15_000);
  });

  it("not for our own clock's being set back: the predictor's plans follow each other as time goes on", () => {
    const { age, clock, pass, see } = watched();
    see(1);
    pass(15_000);
    clock.wall -= 120_000;
    see(2, 120_000);
    expect(age.ageMs()).toBe(0);
    pass(15_000);
    expect(() => see(3, 131_000)).toThrow(expect.objectContaining({ code: "future" }));
    expect(() => see(3, 120_000, 2)).toThrow(expect.objectContaining({ code: "future" }));
    see(3, 120_000);
    expect(age.ageMs()).toBe(0);
  });

  it("when it is older than decisions live, until the predictor is seen to make another one", () => {
    const { age, pass, see } = watched();
    expect(() => see(1, -300_001)).toThrow(expect.objectContaining({ code: "stale" }));
    pass(1_000);
    expect(() => age.seeAgain()).toThrow(expect.objectContaining({ code: "stale" }));
    pass(1_000);
    see(2, -300_001);
    expect(age.ageMs()).toBe(1_000);
  });

  it("when an earlier one of the same predictor's life comes late, but not when the predictor began again", () => {
    const { age, see } = watched();
    see(7);
    expect(() => see(6)).toThrow(expect.objectContaining({ code: "out-of-order" }));
    see(1, 0, 2);
    expect(age.ageMs()).toBe(0);
  });
});
