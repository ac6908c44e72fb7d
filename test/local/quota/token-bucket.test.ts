import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createBucket, fullBucket, refill, stallMillis } from "@tradewind/local/quota/token-bucket.ts";

/** A thread that computes in slices of 1 ms under a bucket. @returns wall time of the whole computation, ms */
function wallMillis(cpuMillis: number, cpuCores: number, sliceMillis = 1): number {
  let now = 0;
  let cpu = 0;
  const bucket = createBucket({
    cpuCores,
    cpuMillis: () => cpu,
    monotonicMs: () => now,
    stall: (millis) => {
      now += millis;
    },
  });
  for (let left = cpuMillis; left > 0; left -= sliceMillis) {
    const slice = Math.min(left, sliceMillis);
    now += slice;
    cpu += slice;
    bucket.pay();
  }
  return now;
}

describe("the token bucket", () => {
  it.each([
    { cpuMillis: 19, cpuCores: 0.2, wall: 19, why: "fits into one period" },
    // 20 run, 80 stalled, 20 run, 80 stalled, 10 run.
    { cpuMillis: 50, cpuCores: 0.2, wall: 210, why: "stalls at the end of each quota" },
    { cpuMillis: 95, cpuCores: 0.5, wall: 145, why: "50 run, 50 stalled, 45 run" },
    { cpuMillis: 95, cpuCores: 1.5, wall: 95, why: "one thread cannot use up more than a core" },
  ])("$cpuMillis ms of work under $cpuCores cores take $wall ms: $why", ({ cpuMillis, cpuCores, wall }) => {
    expect(wallMillis(cpuMillis, cpuCores)).toBeCloseTo(wall, 6);
  });

  it("does not save up unused time beyond one quota", () => {
    const idle = refill({ tokensMillis: 20, periodStartMs: 0 }, 20, 10_000);
    expect(idle).toEqual({ tokensMillis: 20, periodStartMs: 10_000 });
  });

  it("pays an overrun back from the next periods", () => {
    // 20 ms of quota, 65 ms used at once: 45 in debt; two more periods pay 40, the third leaves 15.
    const state = { tokensMillis: 20 - 65, periodStartMs: 0 };
    expect(stallMillis(state, 20, 65)).toBe(300 - 65);
    expect(refill(state, 20, 300)).toEqual({ tokensMillis: 15, periodStartMs: 300 });
  });

  it("keeps the start of its periods when it is looked at in the middle of one", () => {
    expect(refill(fullBucket(20, 1_000), 20, 1_250)).toEqual({ tokensMillis: 20, periodStartMs: 1_200 });
    expect(refill(fullBucket(20, 1_000), 20, 1_050)).toEqual({ tokensMillis: 20, periodStartMs: 1_000 });
  });

  it("gives a busy thread its cores in the long run, whatever the length of its slices", () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.05, max: 0.9, noNaN: true }),
        fc.double({ min: 0.2, max: 40, noNaN: true }),
        (cpuCores, sliceMillis) => {
          const cpuMillis = 2_000;
          const wall = wallMillis(cpuMillis, cpuCores, sliceMillis);
          const ideal = cpuMillis / cpuCores;
          // One quota may be used at once at the start, and the last slice need not wait for its period.
          expect(wall).toBeGreaterThan(ideal - 100 - sliceMillis / cpuCores);
          expect(wall).toBeLessThan(ideal + 100 + sliceMillis / cpuCores);
        },
      ),
    );
  });

  it("keeps a new limit from the middle of a period on, and its debt", () => {
    let now = 0;
    let cpu = 0;
    const stalls: number[] = [];
    const bucket = createBucket({
      cpuCores: 0.2,
      cpuMillis: () => cpu,
      monotonicMs: () => now,
      stall: (millis) => {
        stalls.push(millis);
        now += millis;
      },
    });
    const work = (millis: number): void => {
      now += millis;
      cpu += millis;
      bucket.pay();
    };
    // Half of 20 ms is used; half of 40 ms is left.
    work(10);
    bucket.resize(0.4);
    work(19);
    expect(stalls).toEqual([]);
    work(1);
    expect(stalls).toEqual([70]);
    // 25 ms over the 40 of the second period: at 10 ms a period they take three more, the third leaves 5.
    work(65);
    expect(stalls).toEqual([70, 35]);
    bucket.resize(0.1);
    work(20);
    // 15 ms of the 40 were left, a quarter of them under the new limit: 3.75 less 20 is 16.25 in debt.
    expect(stalls).toEqual([70, 35, 180]);
  });
});
