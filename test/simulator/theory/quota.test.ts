import { seededRng, standardNormal } from "@tradewind/core/values/rng.ts";
import { describe, expect, it } from "vitest";
import { lognormal } from "../../../simulator/model/distribution.ts";
import { application, cpu, quantileOf, Rig, service } from "../rig.ts";

const PERIOD_MS = 100;
const CV = 0.5;

interface Container {
  readonly cores: number;
  readonly threads: number;
  readonly demandMs: number;
}

/** p95 that the simulator finds, ms. */
function simulated({ cores, demandMs, threads }: Container, utilisation: number, requests = 15_000): number {
  const rate = (1e3 * cores * utilisation) / demandMs;
  const container = { cpuRequestCores: cores, cpuLimitCores: cores, memoryRequestBytes: 1e8 };
  const model = application(service("a", [cpu(lognormal(demandMs, CV))], { threads, container }));
  const latencies = new Rig(model, { cores: threads }).run(rate, Math.ceil(requests / rate), 5);
  return quantileOf(latencies, 0.95);
}

/**
 * p95 by a model of its own: the backlog at the start of a period is a random walk, B' = (B + A(P) − Q)+ with A the compound
 * Poisson process of demands; a request that finds quota left runs, one that does not shares the processor from the next
 * period on. Drawn 8,000 times.
 */
function modelled({ cores, demandMs, threads }: Container, utilisation: number): number {
  const rng = seededRng(7);
  const sigma = Math.sqrt(Math.log1p(CV * CV));
  const demand = (): number => demandMs * Math.exp(sigma * standardNormal(rng) - sigma ** 2 / 2);
  const quotaMs = cores * PERIOD_MS;
  const perMs = (cores * utilisation) / demandMs;
  const arrived = (lengthMs: number): number => {
    let sum = 0;
    for (let atMs = 0; ;) {
      atMs -= Math.log1p(-rng()) / perMs;
      if (atMs >= lengthMs) return sum;
      sum += demand();
    }
  };
  const shares = shareBelow(Array.from({ length: 4_000 }, demand), demandMs);
  const latencies: number[] = [];
  let backlogMs = 0;
  for (let draw = 0; draw < 8_500; draw += 1) {
    const atMs = rng() * PERIOD_MS;
    const foundMs = backlogMs + arrived(atMs);
    const ownMs = demand();
    const alone = ownMs / (1 - (perMs * demandMs) / threads);
    if (draw >= 500) {
      latencies.push(
        foundMs < quotaMs && alone <= quotaMs - foundMs
          ? alone
          : stalled({ atMs, foundMs, ownMs, quotaMs, threads, utilisation, shares }),
      );
    }
    backlogMs = Math.max(0, backlogMs + arrived(PERIOD_MS) - quotaMs);
  }
  return quantileOf(latencies, 0.95);
}

/** g(x) = E min(D, x) / E D, and its mean over (0, x), from a sample. */
function shareBelow(sample: readonly number[], meanMs: number): (x: number) => { at: number; mean: number } {
  const grid = 0.1 * meanMs;
  const values: number[] = [0];
  for (let step = 1; step <= 100; step += 1) {
    const x = step * grid;
    values.push(sample.reduce((sum, each) => sum + Math.min(each, x), 0) / sample.length / meanMs);
  }
  const sums = values.map((_, index) => values.slice(0, index + 1).reduce((sum, value) => sum + value, 0));
  return (x) => {
    const step = Math.max(1, Math.min(100, Math.round(x / grid)));
    return { at: values[step] ?? 1, mean: (sums[step] ?? 0) / (step + 1) };
  };
}

interface Stalled {
  readonly atMs: number;
  readonly foundMs: number;
  readonly ownMs: number;
  readonly quotaMs: number;
  readonly threads: number;
  readonly utilisation: number;
  readonly shares: (x: number) => { at: number; mean: number };
}

function stalled({ atMs, foundMs, ownMs, quotaMs, shares, threads, utilisation }: Stalled): number {
  const { at, mean } = shares(ownMs);
  const workMs = (ownMs + at * Math.max(0, foundMs - quotaMs)) / (1 - utilisation * mean);
  const targetMs = Math.min(foundMs, quotaMs) + workMs;
  const periods = Math.floor(targetMs / quotaMs);
  return periods * PERIOD_MS + (targetMs - periods * quotaMs) / threads - atMs;
}

const CONTAINERS: readonly Container[] = [
  { cores: 0.2, threads: 4, demandMs: 7 },
  { cores: 0.5, threads: 8, demandMs: 5 },
  { cores: 1, threads: 8, demandMs: 5 },
  { cores: 2, threads: 16, demandMs: 5 },
  { cores: 4, threads: 32, demandMs: 8 },
];
const UTILISATIONS = [0.3, 0.5, 0.7, 0.85];

describe("CFS quota with threads", () => {
  it.each(CONTAINERS)(
    "$cores cores, $threads threads: has the p95 of a model that knows backlog, quota and threads",
    (container) => {
      const errors = UTILISATIONS.map(
        (utilisation) => modelled(container, utilisation) / simulated(container, utilisation) - 1,
      );
      for (const error of errors) expect(Math.abs(error)).toBeLessThan(0.45);
      expect(errors.reduce((sum, error) => sum + Math.abs(error), 0) / errors.length).toBeLessThan(0.2);
    },
  );

  it("is not 1/(1 − utilisation): a core with eight threads keeps its p95 up to 70 % where one thread doubles it", () => {
    const threads = { cores: 1, threads: 8, demandMs: 5 };
    expect(simulated(threads, 0.7)).toBeLessThan(1.6 * simulated(threads, 0.25));
    const one = { ...threads, threads: 1 };
    expect(simulated(one, 0.7)).toBeGreaterThan(2 * simulated(one, 0.25));
  });

  it("p95 rises with the load and falls with the limit, on the same requests", () => {
    for (const container of CONTAINERS.slice(0, 3)) {
      const byLoad = UTILISATIONS.map((utilisation) => simulated(container, utilisation));
      expect(byLoad).toEqual([...byLoad].sort((a, b) => a - b));
    }
    const byLimit = [0.3, 0.4, 0.6, 1].map((cores) =>
      simulated({ cores, threads: 8, demandMs: 5 }, 0.2 / cores),
    );
    expect(byLimit).toEqual([...byLimit].sort((a, b) => b - a));
  });

  it("with many times more quota than load and one request at a time takes the demand alone", () => {
    const p95 = simulated({ cores: 16, threads: 64, demandMs: 5 }, 0.001, 4_000);
    const sigma = Math.sqrt(Math.log1p(CV * CV));
    expect(p95 / (5 * Math.exp(1.645 * sigma - sigma ** 2 / 2))).toBeGreaterThan(0.97);
    expect(p95 / (5 * Math.exp(1.645 * sigma - sigma ** 2 / 2))).toBeLessThan(1.03);
  });
});
