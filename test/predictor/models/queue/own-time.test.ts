import {
  BASE,
  chanceOf as chanceFor,
  demandsOf,
  DEMAND,
  emptyTimeAnswer,
  HOUSEKEEPING,
  OVERHEAD,
  PARAMETER_COUNT,
  timeAt,
} from "@tradewind/predictor/models/queue/own-time.ts";
import type { Program, TimeAnswer, TimePlace } from "@tradewind/predictor/models/queue/own-time.ts";
import { MEAN, P50, P95, P99 } from "@tradewind/predictor/models/queue/queue-curve.ts";
import type { Statistic } from "@tradewind/predictor/models/queue/queue-curve.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

/** 8 ms demand, 10 millicores, variation 0.7, 5 ms off the CPU with variation 0.5; nearly all demand is self time. */
const PARAMETERS = [0.008, 0.01, 0.7, 0.005, 0.5, 0.001].map(Math.log);
const MANY: Program = { parallelism: 8, isInOrder: false };
const ONE: Program = { parallelism: 1, isInOrder: true };

function answerAt(
  parameters: readonly number[],
  program: Program,
  place: Partial<TimePlace>,
  statistic: Statistic = P95,
): TimeAnswer {
  const out = emptyTimeAnswer();
  timeAt(
    parameters,
    program,
    { cpuCores: 1, loadPerContainer: 40, windowSeconds: 15, ...place },
    statistic,
    out,
  );
  return out;
}

describe("self time", () => {
  it("is the demand and the time off the CPU without load", () => {
    const found = answerAt(PARAMETERS, MANY, { loadPerContainer: 0 }, MEAN);
    expect(found.seconds).toBeCloseTo(0.013, 3);
    expect(found.cpuShare).toBeCloseTo(8 / 13, 1);
    expect(answerAt(PARAMETERS, MANY, { loadPerContainer: 0 }, P99).meanSeconds).toBe(found.seconds);
  });

  it("is nearly the percentile of the part that is much longer", () => {
    const slow = PARAMETERS.with(BASE, Math.log(5));
    const sigma = Math.sqrt(Math.log1p(0.25));
    expect(answerAt(slow, MANY, {}).seconds / (5 * Math.exp(1.645 * sigma - sigma ** 2 / 2))).toBeCloseTo(
      1,
      2,
    );
    expect(answerAt(slow, MANY, {}, P50).seconds / (5 * Math.exp(-(sigma ** 2) / 2))).toBeCloseTo(1, 2);
  });

  it("counts housekeeping as load", () => {
    const busy = PARAMETERS.with(HOUSEKEEPING, Math.log(0.4));
    expect(answerAt(busy, ONE, {}).seconds).toBeGreaterThan(1.5 * answerAt(PARAMETERS, ONE, {}).seconds);
  });

  it("leaves out what a request costs before its handler and after it, but not the wait for that", () => {
    const half = PARAMETERS.with(OVERHEAD, Math.log(0.5));
    const less = (place: Partial<TimePlace>, statistic: Statistic): number =>
      answerAt(PARAMETERS, ONE, place, statistic).seconds - answerAt(half, ONE, place, statistic).seconds;
    expect(less({ loadPerContainer: 0 }, MEAN)).toBeCloseTo(0.004, 4);
    expect(less({ loadPerContainer: 110 }, MEAN)).toBeCloseTo(0.004, 4);
  });

  it("has derivatives equal to differences by every parameter, cores and load", () => {
    const anyParameters = fc.tuple(
      fc.double({ min: -8, max: -1, noNaN: true }),
      fc.double({ min: -7, max: -2, noNaN: true }),
      fc.double({ min: -1.1, max: 0.6, noNaN: true }),
      fc.double({ min: -8, max: 0, noNaN: true }),
      fc.double({ min: -2, max: 0.9, noNaN: true }),
      fc.double({ min: -6, max: -0.06, noNaN: true }),
    );
    fc.assert(
      fc.property(
        anyParameters,
        fc.constantFrom(ONE, { ...ONE, isInOrder: false }, MANY),
        fc.record({
          cpuCores: fc.double({ min: 0.05, max: 12, noNaN: true }),
          loadPerContainer: fc.double({ min: 0.1, max: 500, noNaN: true }),
        }),
        fc.constantFrom<Statistic>(MEAN, P50, P95, P99),
        (parameters, program, place, statistic) => {
          const found = answerAt(parameters, program, place, statistic);
          const near = (slope: number, moved: (step: number) => TimeAnswer): boolean =>
            [1e-6, -1e-6].some((step) => {
              const side = Math.log(moved(step).seconds / found.seconds) / step;
              return Math.abs(slope - side) < 2e-3 * Math.max(1, Math.abs(side));
            });
          for (let i = 0; i < PARAMETER_COUNT; i += 1) {
            const by = found.byParameter[i] ?? 0;
            const moved = (step: number): TimeAnswer =>
              answerAt(parameters.with(i, (parameters[i] ?? 0) + step), program, place, statistic);
            expect(near(by, moved), `parameter ${i}`).toBe(true);
          }
          const { cpuCores, loadPerContainer } = place;
          const byLoad = (found.byLoad * loadPerContainer) / found.seconds;
          expect(
            near(byLoad, (step) =>
              answerAt(
                parameters,
                program,
                { ...place, loadPerContainer: loadPerContainer * Math.exp(step) },
                statistic,
              ),
            ),
          ).toBe(true);
          const byCores = (found.byCores * cpuCores) / found.seconds;
          expect(
            near(byCores, (step) =>
              answerAt(parameters, program, { ...place, cpuCores: cpuCores * Math.exp(step) }, statistic),
            ),
          ).toBe(true);
        },
      ),
    );
  });
});

describe("chance of a window", () => {
  const chanceOf = (load: number, calls: number, parameters = PARAMETERS): number => {
    const place = { cpuCores: 1, loadPerContainer: load, windowSeconds: 15 };
    const { cpuShare } = answerAt(parameters, ONE, place);
    return chanceFor(demandsOf(parameters), ONE, place, P95, { calls, cpuShare });
  };

  it("falls with the number of calls", () => {
    expect(chanceOf(40, 100) / chanceOf(40, 400)).toBeCloseTo(4, 9);
  });

  it("is many times larger where requests of one window have met the same queue", () => {
    expect(chanceOf(110, 400)).toBeGreaterThan(5 * chanceOf(10, 400));
  });

  it("is that of independent times where requests hardly use the CPU", () => {
    const waiting = PARAMETERS.with(DEMAND, Math.log(1e-5));
    expect(chanceOf(110, 400, waiting) / chanceOf(10, 400, waiting)).toBeCloseTo(1, 1);
  });
});
