import { describe, expect, it } from "vitest";
import { createProcessor } from "@tradewind/local/application/processor.ts";
import { calibrate } from "@tradewind/local/application/work.ts";
import type { Machine } from "@tradewind/local/application/work.ts";

/** A machine whose CPU does 1,000 spins and 500 touches a millisecond, disturbed in every round but the third. */
function fakeMachine() {
  let cpu = 0;
  let calls = 0;
  const spend = (millis: number): void => {
    calls += 1;
    cpu += calls % 3 === 0 ? millis : 1.5 * millis;
  };
  const done = { spins: 0, touches: 0 };
  const machine: Machine = {
    spin(iterations) {
      done.spins += iterations;
      spend(iterations / 1_000);
    },
    touch(iterations) {
      done.touches += iterations;
      spend(iterations / 500);
    },
  };
  return { machine, done, cpuMillis: () => cpu };
}

describe("calibrate", () => {
  it("takes the best round, because disturbance only ever slows one down", () => {
    const { machine, cpuMillis } = fakeMachine();
    expect(calibrate(machine, cpuMillis).spinsPerMilli).toBeCloseTo(1_000, 6);
  });

  it("takes the median of several measurements: one lucky moment shall not set the work of all requests", () => {
    let cpu = 0;
    let rounds = 0;
    const machine: Machine = {
      spin(iterations) {
        rounds += 1;
        // The first five rounds that count are twice as fast as all others.
        cpu += iterations / (rounds <= 5 ? 2_000 : 1_000);
      },
      touch: () => undefined,
    };
    expect(calibrate(machine, () => cpu).spinsPerMilli).toBeCloseTo(1_000, 6);
  });

  it("does not measure memory, whose speed is its neighbours' doing: a walk of a thousand places is 50 us", () => {
    const { machine, done, cpuMillis } = fakeMachine();
    expect(calibrate(machine, cpuMillis).touchesPerMilli).toBe(20_000);
    expect(done.touches).toBe(0);
  });
});

describe("createProcessor", () => {
  const calibration = { spinsPerMilli: 1_000, touchesPerMilli: 500 };

  it("does exactly the asked work, in the asked mix", async () => {
    const { machine, done } = fakeMachine();
    const processor = createProcessor({ machine, calibration, memoryBoundRatio: 0.25 });
    await processor.run(10.5, new AbortController().signal);
    expect(done.spins).toBeCloseTo(10.5 * 0.75 * 1_000, 6);
    expect(done.touches).toBeCloseTo(10.5 * 0.25 * 500, 6);
  });

  it("takes turns: two requests of the same length end together, a short one long before a long one", async () => {
    const { machine } = fakeMachine();
    const processor = createProcessor({ machine, calibration, memoryBoundRatio: 0 });
    const { signal } = new AbortController();
    const ended: string[] = [];
    await Promise.all([
      processor.run(30, signal).then(() => ended.push("long")),
      processor.run(10, signal).then(() => ended.push("first")),
      processor.run(10, signal).then(() => ended.push("second")),
    ]);
    expect(ended).toEqual(["first", "second", "long"]);
  });

  it("stops when nobody waits any more, and pays for every slice", async () => {
    const { machine, done } = fakeMachine();
    const abandoned = new AbortController();
    let payments = 0;
    const bucket = {
      pay() {
        payments += 1;
        if (payments === 3) abandoned.abort();
      },
    };
    const processor = createProcessor({ machine, calibration, memoryBoundRatio: 0, bucket });
    await processor.run(1_000, abandoned.signal);
    expect(payments).toBe(3);
    expect(done.spins).toBe(3_000);
  });
});
