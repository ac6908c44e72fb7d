import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentClock } from "@tradewind/predictor/sources/agent-clock.ts";

const T = 1_750_000_000_000;

describe("the clock of an agent as its answers show it", () => {
  it("is known as closely as the fastest answer says, and slower ones change nothing", () => {
    const sut = new AgentClock();
    // It is an hour behind, and read 3 s before it answered.
    const theirs = (ms: number): number => ms - 3_600_000;
    expect(sut.hear(theirs(T - 3_000), 3_000, { askedAtMs: T - 1_000, answeredAtMs: T + 500 })).toBe(true);
    expect(sut.fromOurs(T) - theirs(T)).toBeCloseTo(250, 6);
    sut.hear(theirs(T + 1_000), 0, { askedAtMs: T + 998, answeredAtMs: T + 1_004 });
    expect(sut.fromOurs(T) - theirs(T)).toBeCloseTo(-1, 6);
    sut.hear(theirs(T + 2_000), 0, { askedAtMs: T + 1_500, answeredAtMs: T + 4_000 });
    expect(sut.fromOurs(T) - theirs(T)).toBeCloseTo(-1, 6);
  });

  it.each([
    ["forward", 300],
    ["back", -300],
  ])("was set %s where no one difference explains two answers", (_name, stepMs) => {
    const sut = new AgentClock();
    sut.hear(T, 0, { askedAtMs: T - 5, answeredAtMs: T + 5 });
    expect(sut.hear(T + 2_000 + stepMs, 0, { askedAtMs: T + 1_995, answeredAtMs: T + 2_005 })).toBe(false);
    expect(sut.fromOurs(T + 4_000)).toBeCloseTo(T + 4_000 + stepMs, 6);
  });

  it("may drift as two clocks that are slewed, for hours, without being taken for set", () => {
    const bound = fc.integer({ min: 0, max: 800 });
    const exchanges = fc.array(fc.tuple(bound, bound), { minLength: 2, maxLength: 200 });
    fc.assert(
      fc.property(exchanges, fc.double({ min: -0.0009, max: 0.0009, noNaN: true }), (ways, drift) => {
        const sut = new AgentClock();
        for (const [index, [thereMs, backMs]] of ways.entries()) {
          const nowMs = T + index * 60_000;
          const theirs = T + (nowMs - T) * (1 + drift);
          expect(sut.hear(theirs, 0, { askedAtMs: nowMs - thereMs, answeredAtMs: nowMs + backMs })).toBe(
            true,
          );
        }
      }),
    );
  });
});
