import { burstsAfter, stalledShares } from "@tradewind/predictor/models/queue/cpu-bursts.ts";
import type { CpuBursts, ThrottledContainer } from "@tradewind/predictor/models/queue/cpu-bursts.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** podinfo's frontend: 2 ms of CPU a request, 3 millicores without any, as many threads as it likes. */
const TAKEN = { cpuSecondsPerRequest: 0.002, housekeepingCores: 0.003, parallelism: 16 };
const OBJECTIVE_SECONDS = 0.05;

const container = (cpuUsageCores: number, throttledRatio: number): ThrottledContainer => ({
  cpuLimitCores: 0.08,
  cpuUsageCores,
  throttledRatio,
  windowSeconds: 15,
});

const learnt = (windows: number, ...containers: readonly ThrottledContainer[]): CpuBursts =>
  Array.from({ length: windows }).reduce<CpuBursts>((before) => burstsAfter(before, containers) ?? [], []);

const stalledAt = (bursts: CpuBursts, requestsPerSecond: number, cpuLimitCores = 0.08): number =>
  stalledShares(bursts, TAKEN)({ cpuLimitCores, requestsPerSecond, objectiveSeconds: OBJECTIVE_SECONDS });

describe("requests that a used-up CPU quota takes over the objective", () => {
  it("are known for four times the load from the few throttled periods of a calm", () => {
    // 15 requests a second throttle 3 % of the periods of 80 millicores; of 60 a second over two, three, four such containers
    // 13.6 to 8.9, 4.5 and 1.3 % took longer than 50 ms on a real node.
    const calm = learnt(20, container(0.033, 0.03));
    expect(stalledAt(calm, 60 / 2)).toBeGreaterThan(0.09);
    expect(stalledAt(calm, 60 / 3)).toBeGreaterThan(0.03);
    expect(stalledAt(calm, 60 / 3)).toBeLessThan(0.07);
    expect(stalledAt(calm, 60 / 4)).toBeLessThan(0.03);
  });

  it("are half of those of throttled periods at half a period, and none from a whole period on", () => {
    // A work of exactly the quota throttles half of the periods, whatever the burst.
    const full = (0.08 - TAKEN.housekeepingCores) / TAKEN.cpuSecondsPerRequest;
    const shares = stalledShares([], TAKEN);
    const place = { cpuLimitCores: 0.08, requestsPerSecond: full };
    expect(shares({ ...place, objectiveSeconds: 0.05 })).toBeCloseTo(0.5 * (0.5 - 0.08 / 16), 6);
    expect(shares({ ...place, objectiveSeconds: 0.1 })).toBe(0);
  });

  it("are none where the program cannot use up its quota before that", () => {
    const shares = stalledShares([], { ...TAKEN, parallelism: 1 });
    expect(shares({ cpuLimitCores: 1, requestsPerSecond: 499, objectiveSeconds: 0.01 })).toBe(0);
  });

  it("are more where more periods were throttled at the same use, as by callers that send requests together", () => {
    const few = stalledAt(learnt(10, container(0.033, 0.01)), 25);
    const many = stalledAt(learnt(10, container(0.033, 0.2)), 25);
    expect(many).toBeGreaterThan(1.5 * few);
  });

  it("fall with the quota and rise with the load, whatever was seen", () => {
    const seen = fc.array(
      fc.tuple(fc.double({ min: 0.001, max: 0.08, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
      {
        maxLength: 8,
      },
    );
    const load = fc.double({ min: 0, max: 200, noNaN: true });
    fc.assert(
      fc.property(
        seen,
        load,
        fc.double({ min: 1, max: 3, noNaN: true }),
        (windows, requestsPerSecond, factor) => {
          const bursts = windows.reduce<CpuBursts>(
            (before, [use, throttled]) => burstsAfter(before, [container(use, throttled)]) ?? before,
            [],
          );
          const here = stalledAt(bursts, requestsPerSecond);
          expect(here).toBeGreaterThanOrEqual(0);
          expect(here).toBeLessThanOrEqual(0.5);
          expect(stalledAt(bursts, factor * requestsPerSecond)).toBeGreaterThanOrEqual(here - 1e-12);
          expect(stalledAt(bursts, requestsPerSecond, factor * 0.08)).toBeLessThanOrEqual(here + 1e-12);
        },
      ),
    );
  });

  it("are learnt from no container that is full: its quota hides what it was asked for", () => {
    expect(burstsAfter(undefined, [container(0.079, 0.99)])).toBeUndefined();
  });
});
