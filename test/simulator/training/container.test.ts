import { describe, expect, it } from "vitest";
import { lognormal } from "@tradewind/simulator/model/distribution.ts";
import { TrainingContainer } from "@tradewind/simulator/training/container.ts";
import type { Condition, TrainingService } from "@tradewind/simulator/training/container.ts";
import { simulateStretch } from "../../../bench/pick/container.ts";

const PLAIN: TrainingService = {
  demandSeconds: 0.01,
  demandSpread: Math.sqrt(Math.log1p(0.49)),
  heavyShare: 0,
  heavyFactor: 1,
  cores: 1,
  threads: Infinity,
  waitSeconds: 0,
  waitSpread: 0,
  holdsThread: false,
  connections: Infinity,
  lockedShare: 0,
  collectEverySeconds: Infinity,
  collectSeconds: 0,
  housekeepingCores: 0,
};

interface Run {
  readonly seconds: Float64Array;
  readonly usedCores: number;
  readonly throttledShare: number;
}

function run(
  service: TrainingService,
  condition: Omit<Condition, "workFactor">,
  runSeconds: number,
  key = 1,
): Run {
  const seconds: number[] = [];
  const container = new TrainingContainer(service, { ...condition, workFactor: 1 }, key, (_, taken) =>
    seconds.push(taken),
  );
  container.runUntil(runSeconds);
  const throttledShare = container.throttledPeriods / Math.max(1, container.periods);
  return {
    seconds: Float64Array.from(seconds),
    usedCores: container.usedSeconds / runSeconds,
    throttledShare,
  };
}

const meanOf = (values: Float64Array): number => values.reduce((sum, each) => sum + each, 0) / values.length;
const p95Of = (values: Float64Array): number =>
  values.toSorted()[Math.floor(0.95 * values.length)] ?? Number.NaN;

describe("the fast container", () => {
  it.each([0.3, 0.6, 0.8])("shares one core as M/G/1-PS at utilisation %d", (use) => {
    const { seconds, usedCores } = run(PLAIN, { quotaCores: Infinity, requestsPerSecond: 100 * use }, 3_000);
    expect(meanOf(seconds) / (0.01 / (1 - use))).toBeCloseTo(1, 1);
    expect(usedCores / use).toBeCloseTo(1, 1);
  });

  it.each([0.3, 0.6, 0.8])(
    "serves one thread in order as Pollaczek and Khinchine have it at utilisation %d",
    (use) => {
      const { seconds } = run(
        { ...PLAIN, threads: 1 },
        { quotaCores: Infinity, requestsPerSecond: 100 * use },
        3_000,
      );
      const expected = 0.01 + (use * 0.01 * 1.49) / 2 / (1 - use);
      expect(meanOf(seconds) / expected).toBeCloseTo(1, 1);
    },
  );

  it.each([
    { cores: 1, threads: 1, quotaCores: 0.4, use: 0.5 },
    { cores: 4, threads: 4, quotaCores: 1, use: 0.6 },
    { cores: 8, threads: 8, quotaCores: 2, use: 0.8 },
    { cores: 2, threads: 2, quotaCores: 4, use: 0.7 },
  ])(
    "has the tail of the engine's processor with $threads threads under $quotaCores cores at $use",
    ({ cores, quotaCores, threads, use }) => {
      const requestsPerSecond = (use * Math.min(quotaCores, cores)) / 0.01;
      const count = 20_000;
      const ours = run(
        { ...PLAIN, cores, threads },
        { quotaCores, requestsPerSecond },
        count / requestsPerSecond,
      );
      const theirs = new Float64Array(count);
      const work = {
        cpuCores: quotaCores,
        threads,
        requestsPerSecond,
        demand: lognormal(10, 0.7),
        workFactor: 1,
      };
      simulateStretch(work, { key: 5, uncounted: 500, counted: count }, theirs, 0);
      expect(Math.abs(Math.log(p95Of(ours.seconds) / p95Of(theirs)))).toBeLessThan(0.1);
      expect(Math.abs(Math.log(meanOf(ours.seconds) / meanOf(theirs)))).toBeLessThan(0.07);
    },
  );

  it("sends the same requests for one key, so that more cores only make them shorter", () => {
    const place = { quotaCores: 1, requestsPerSecond: 60 };
    const service = { ...PLAIN, cores: 4, threads: 64 };
    const [small, large] = [run(service, place, 300, 9), run(service, { ...place, quotaCores: 2 }, 300, 9)];
    expect(Math.abs(small.seconds.length - large.seconds.length)).toBeLessThan(20);
    expect(meanOf(large.seconds)).toBeLessThan(meanOf(small.seconds));
    expect(small.throttledShare).toBeGreaterThan(large.throttledShare);
  });

  it.each<[string, Partial<TrainingService>, number]>([
    ["connections", { waitSeconds: 0.05, waitSpread: 0.5, connections: 2 }, 34],
    ["threads held through waits", { waitSeconds: 0.05, waitSpread: 0.5, holdsThread: true, threads: 2 }, 32],
    ["a lock", { lockedShare: 0.9, cores: 8 }, 95],
    ["collections", { cores: 8, collectEverySeconds: 0.5, collectSeconds: 0.1 }, 60],
  ])("is slower near the end of %s, which CPU does not show, than without", (_, more, requestsPerSecond) => {
    const place = { quotaCores: Infinity, requestsPerSecond };
    const free = { connections: Infinity, threads: Infinity, lockedShare: 0, collectEverySeconds: Infinity };
    const [without, within] = [
      run({ ...PLAIN, ...more, ...free }, place, 400),
      run({ ...PLAIN, ...more }, place, 400),
    ];
    expect(p95Of(within.seconds)).toBeGreaterThan(1.2 * p95Of(without.seconds));
  });

  it("turns callers away instead of growing without end", () => {
    const condition = { quotaCores: 0.1, requestsPerSecond: 5_000, workFactor: 1 };
    const container = new TrainingContainer(PLAIN, condition, 1, () => undefined);
    container.runUntil(20);
    expect(container.unended).toBe(4_000);
  });
});
