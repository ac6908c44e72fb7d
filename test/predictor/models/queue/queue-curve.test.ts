import { seededRng } from "@tradewind/core/values/rng.ts";
import { meanInOrder, meanWithoutQuota } from "../../../../bench/queue-table/build-table.ts";
import {
  chanceOfTail,
  emptyAnswer,
  MEAN,
  P50,
  P95,
  P99,
  responseRatio,
} from "@tradewind/predictor/models/queue/queue-curve.ts";
import type { QueueAnswer, QueuePlace, Statistic } from "@tradewind/predictor/models/queue/queue-curve.ts";
import { drawQueue, responseAlone, simulateQueue } from "../../../../bench/queue-table/simulate-queue.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { quantileOf, SimulatedContainer } from "./simulated-container.ts";
import type { Truth } from "./simulated-container.ts";

interface Place extends Omit<QueuePlace, "logPeriodDemands" | "logVariation"> {
  readonly periodDemands: number;
  readonly variation: number;
}

const PLACE: Place = {
  utilisation: 0.5,
  quotaShare: 1,
  periodDemands: 20,
  parallelism: 1,
  variation: 0.7,
  isInOrder: false,
  windowDemands: 3_000,
};

const placed = (change: Partial<Place>): QueuePlace => {
  const { periodDemands, variation, ...rest } = { ...PLACE, ...change };
  return { ...rest, logPeriodDemands: Math.log(periodDemands), logVariation: Math.log(variation) };
};

function answerAt(change: Partial<Place>, statistic: Statistic = MEAN): QueueAnswer {
  const out = emptyAnswer();
  responseRatio(placed(change), statistic, out);
  return out;
}

const ratioAt = (change: Partial<Place>, statistic: Statistic = MEAN): number =>
  answerAt(change, statistic).ratio;

const log = (min: number, max: number): fc.Arbitrary<number> =>
  fc.double({ min: Math.log(min), max: Math.log(max), noNaN: true }).map(Math.exp);

const anyPlace = fc.record({
  utilisation: fc.double({ min: 0, max: 1.5, noNaN: true }),
  quotaShare: log(1e-4, 10),
  periodDemands: log(1e-3, 1e5),
  parallelism: log(0.3, 64),
  variation: log(0.05, 5),
  isInOrder: fc.boolean(),
  windowDemands: log(1, 1e6),
});
const anyStatistic = fc.constantFrom(MEAN, P50, P95, P99);

describe("response curve without a quota", () => {
  it.each([0.2, 0.5, 0.8, 0.9])(
    "has mean 1/(1 - %d) on one shared core whatever the variation",
    (utilisation) => {
      for (const variation of [0.3, 1, 2]) {
        expect(ratioAt({ utilisation, variation }) * (1 - utilisation)).toBeCloseTo(1, 1);
      }
    },
  );

  it.each([0.3, 0.7, 0.9])(
    "has Pollaczek and Khinchine's mean for one thread that takes requests in order, at %d",
    (utilisation) => {
      for (const variation of [0.3, 1.2]) {
        const exact = meanInOrder(utilisation, variation);
        expect(ratioAt({ utilisation, variation, isInOrder: true }) / exact).toBeCloseTo(1, 1);
      }
    },
  );

  it("has Erlang's mean on eight cores", () => {
    for (const utilisation of [0.5, 0.8, 0.92]) {
      const exact = meanWithoutQuota(utilisation, 8);
      expect(ratioAt({ utilisation, parallelism: 8 }) / exact).toBeCloseTo(1, 1);
    }
    expect(meanWithoutQuota(0.5, 1)).toBeCloseTo(2, 12);
    expect(meanWithoutQuota(0.5, 2)).toBeCloseTo(4 / 3, 12);
  });

  it("is the demand itself without load", () => {
    const sigma = Math.sqrt(Math.log1p(0.49));
    const exact = (z: number): number => Math.exp(z * sigma - sigma ** 2 / 2);
    expect(ratioAt({ utilisation: 0 })).toBeCloseTo(1, 1);
    expect(ratioAt({ utilisation: 0 }, P50) / exact(0)).toBeCloseTo(1, 1);
    expect(ratioAt({ utilisation: 0 }, P95) / exact(1.645)).toBeCloseTo(1, 1);
    expect(ratioAt({ utilisation: 0 }, P99) / exact(2.326)).toBeCloseTo(1, 1);
  });

  it("takes twice as long on half a core that is not a quota", () => {
    const whole = ratioAt({ periodDemands: 10 }, P95);
    expect(ratioAt({ parallelism: 0.5, periodDemands: 20 }, P95)).toBeCloseTo(2 * whole, 9);
  });
});

describe("response curve under a quota", () => {
  it("is throttled without any load when a request needs more than the quota of a period", () => {
    const model = { utilisation: 0, quotaShare: 0.1, periodDemands: 2.5, parallelism: 1, isInOrder: false };
    const rng = seededRng(3);
    const { demands } = drawQueue(rng, 40_000, 0.7);
    const alone = [...demands].map((demand) => responseAlone(demand, rng(), model));
    const at = { utilisation: 0, quotaShare: 0.1, periodDemands: 2.5 };
    expect(ratioAt(at) / (alone.reduce((sum, each) => sum + each, 0) / alone.length)).toBeCloseTo(1, 1);
    expect(ratioAt(at, P95) / quantileOf(alone, 0.95)).toBeCloseTo(1, 1);
    expect(ratioAt(at, P95)).toBeGreaterThan(5 * ratioAt({ utilisation: 0 }, P95));
  });

  it("hand-worked: 120 ms on half a core of 100 ms periods takes 220 ms from the start of one", () => {
    const model = { utilisation: 0, quotaShare: 0.5, periodDemands: 100, parallelism: 1, isInOrder: false };
    expect(responseAlone(120, 0, model)).toBe(220);
    expect(responseAlone(60, 0.8, { ...model })).toBe(60);
  });

  it.each<[string, Truth, number]>([
    ["0.2 cores, 4 threads", { cores: 0.2, threads: 4, demandMs: 7, cv: 0.5 }, 0.6],
    ["0.5 cores, one thread", { cores: 0.5, threads: 1, demandMs: 5, cv: 0.5 }, 0.75],
    ["one core, 8 threads", { cores: 1, threads: 8, demandMs: 5, cv: 0.5 }, 0.75],
    ["one thread under a limit of 2 cores", { cores: 2, threads: 1, demandMs: 5, cv: 0.5 }, 0.75],
    ["2 cores, requests of varying length", { cores: 2, threads: 16, demandMs: 5, cv: 2 }, 0.6],
    ["half a CPU second a request", { cores: 1, threads: 8, demandMs: 500, cv: 0.5 }, 0.6],
  ])("has the p95 of the simulator's processor within 30 %%: %s", (_, truth, utilisation) => {
    const parallelism = Math.min(64, truth.threads);
    const rate = (utilisation * Math.min(truth.cores, parallelism) * 1e3) / truth.demandMs;
    const { latencies } = new SimulatedContainer(truth, 5).run(rate, 20_000 / rate);
    const ratio = ratioAt(
      {
        utilisation,
        parallelism,
        quotaShare: truth.cores / parallelism,
        periodDemands: 100 / truth.demandMs,
        variation: truth.cv,
        isInOrder: truth.threads === 1,
      },
      P95,
    );
    expect(Math.abs((ratio * truth.demandMs) / quantileOf(latencies, 0.95) - 1)).toBeLessThan(0.3);
  });
});

describe("response curve anywhere", () => {
  it("is finite and positive, and so are its derivatives' bounds", () => {
    fc.assert(
      fc.property(anyPlace, anyStatistic, (place, statistic) => {
        const answer = answerAt(place, statistic);
        expect(Number.isFinite(answer.ratio) && answer.ratio > 0).toBe(true);
        expect(answer.byUtilisation).toBeGreaterThanOrEqual(0);
        expect(answer.byQuota).toBeLessThanOrEqual(0);
        expect(Object.values(answer).every(Number.isFinite)).toBe(true);
        expect(chanceOfTail(placed(place))).toBeGreaterThan(0);
      }),
    );
  });

  it("rises with load, and at the same load falls with the quota", () => {
    fc.assert(
      fc.property(anyPlace, anyStatistic, log(1.001, 3), (place, statistic, factor) => {
        const here = ratioAt(place, statistic) * (1 - 1e-9);
        const busier = { ...place, utilisation: place.utilisation * factor };
        expect(ratioAt(busier, statistic)).toBeGreaterThanOrEqual(here);
        const quotaShare = place.quotaShare / factor;
        const utilisation = (place.utilisation * Math.min(1, place.quotaShare)) / Math.min(1, quotaShare);
        expect(ratioAt({ ...place, quotaShare, utilisation }, statistic)).toBeGreaterThanOrEqual(here);
      }),
    );
  });

  it("has percentiles in their order", () => {
    fc.assert(
      fc.property(anyPlace, (place) => {
        const within = { ...place, utilisation: Math.min(1, place.utilisation) };
        expect(ratioAt(within, P50)).toBeLessThanOrEqual(ratioAt(within, P95));
        expect(ratioAt(within, P95)).toBeLessThanOrEqual(ratioAt(within, P99));
      }),
    );
  });

  it("has derivatives equal to differences inside a cell", () => {
    fc.assert(
      fc.property(anyPlace, anyStatistic, (place, statistic) => {
        const answer = answerAt(place, statistic);
        const sidesOf = (moved: (step: number) => Partial<Place>): number[] =>
          [1e-6, -1e-6].map(
            (step) => Math.log(ratioAt({ ...place, ...moved(step) }, statistic) / answer.ratio) / step,
          );
        // At the border of a cell the slope changes: it must be that of one side.
        const expectOne = (found: number, sides: readonly number[]): void => {
          const gaps = sides.map((side) => Math.abs(found - side) / Math.max(1, Math.abs(side)));
          expect(Math.min(...gaps)).toBeLessThan(2e-3);
        };
        const { utilisation, quotaShare, periodDemands, variation, windowDemands } = place;
        expectOne(
          answer.byUtilisation,
          sidesOf((step) => ({ utilisation: utilisation + step })),
        );
        expectOne(
          answer.byPeriodDemands,
          sidesOf((step) => ({ periodDemands: periodDemands * Math.exp(step) })),
        );
        expectOne(
          answer.byVariation,
          sidesOf((step) => ({ variation: variation * Math.exp(step) })),
        );
        expectOne(
          answer.byWindowDemands,
          sidesOf((step) => ({ windowDemands: windowDemands * Math.exp(step) })),
        );
        const isQuota = quotaShare < 1 - 1e-5;
        const byQuota = sidesOf((step) => ({
          quotaShare: quotaShare * Math.exp(step),
          utilisation: isQuota ? utilisation * Math.exp(-step) : utilisation,
        }));
        expectOne(answer.byQuota, isQuota || quotaShare >= 1 ? byQuota : [answer.byQuota]);
      }),
    );
  });

  it("is convex beyond 0.97, and an over-full queue grows with the window", () => {
    const at = [0.97, 0.98, 0.99, 1, 1.01, 1.02, 1.5, 2].map((utilisation) => ({
      utilisation,
      ratio: ratioAt({ utilisation }, P95),
    }));
    const slopes = at
      .slice(1)
      .map((each, i) => (each.ratio - (at[i]?.ratio ?? 0)) / (each.utilisation - (at[i]?.utilisation ?? 0)));
    for (const [i, slope] of slopes.entries())
      expect(slope).toBeGreaterThanOrEqual((slopes[i - 1] ?? 0) * (1 - 1e-9));
    const over = (windowDemands: number): number => ratioAt({ utilisation: 2, windowDemands }, P95);
    expect(over(100_000) - over(10_000)).toBeCloseTo(0.95 * 90_000, 3);
  });
});

describe("simulated queue of the table", () => {
  it("repeats itself and keeps the order of one thread", () => {
    const draws = drawQueue(seededRng(1), 2_000, 1);
    const model = { utilisation: 0.8, quotaShare: 0.5, periodDemands: 10, parallelism: 1, isInOrder: true };
    const first = simulateQueue(model, draws);
    expect(simulateQueue(model, draws)).toEqual(first);
    let arrival = 0;
    let lastEnd = 0;
    first.forEach((response, i) => {
      arrival += (draws.gaps[i] ?? 0) / (0.8 * 0.5);
      expect(arrival + response).toBeGreaterThan(lastEnd);
      lastEnd = arrival + response;
    });
  });
});
