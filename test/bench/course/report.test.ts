import { describe, expect, it } from "vitest";
import type { Run } from "../../../bench/course/report.ts";
import { reportOf } from "../../../bench/course/report.ts";
import { estimate } from "@tradewind/core/values/estimate.ts";
import { isOnFront } from "../../../bench/statistics.ts";
import { summary } from "../../../bench/course/document.ts";
import { chooseBest, GRID_SIZE, parametersFor, scoreOf, tuningJobs } from "../../../bench/course/tuning.ts";
import type { Tuned, TunedFile } from "../../../bench/course/tuning.ts";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";

const RESULT = {
  requestsOver: 0.02,
  requestsOverFromStart: 0.03,
  minutesOver: 0.1,
  costPerHour: 0.2,
  cores: 6,
  gigabytes: 3,
  starts: 4,
  stops: 3,
  failed: 0,
  oomKills: 0,
  requests: 50_000,
};
const run = (policy: string, seed: number, change: Partial<Run["result"]> = {}, plant = "steady"): Run => ({
  plant,
  policy,
  actuators: "replicas",
  parameters: {},
  seed,
  cpuSeconds: 1,
  result: { ...RESULT, ...change },
});

describe("estimate", () => {
  it("is Student's interval: 10 and 14 give 12 with 12.706 standard errors of 2", () => {
    expect(estimate([10, 14])).toEqual({ mean: 12, low: 12 - 12.706 * 2, high: 12 + 12.706 * 2 });
  });

  it("narrows with the root of the number of seeds and has no bounds for one", () => {
    const values = Array.from({ length: 61 }, (_, at) => (at % 2 === 0 ? 1 : 3));
    const { high, low } = estimate(values);
    expect(high - low).toBeCloseTo((2 * 2.0003 * 1.0083) / Math.sqrt(61), 3);
    expect(estimate([5]).high).toBe(Infinity);
  });
});

describe("isOnFront", () => {
  it("needs somebody who is at least as good in both and better in one to be off it", () => {
    const point = { over: 0.02, cost: 1 };
    expect(isOnFront(point, [{ over: 0.01, cost: 1.1 }])).toBe(true);
    expect(isOnFront(point, [{ over: 0.02, cost: 1 }])).toBe(true);
    expect(isOnFront(point, [{ over: 0.02, cost: 0.9 }])).toBe(false);
  });
});

describe("reportOf", () => {
  const runs = [
    run("tradewind-auto", 1, { costPerHour: 0.1, levels: { queue: 0.25, reactive: 0.75 } }),
    run("tradewind-auto", 2, { costPerHour: 0.3, levels: { queue: 0.75, reactive: 0.25 } }),
    run("hpa-cpu", 1, { costPerHour: 0.2 }),
    run("hpa-cpu", 2, { costPerHour: 0.4 }),
    run("clairvoyant", 1, { costPerHour: 0.01, requestsOver: 0 }),
    run("hpa-cpu", 1, {}, "wave"),
  ];
  const [steady, wave] = reportOf(runs);
  const policy = (name: string) => steady!.policies.find((each) => each.name === name)!;

  it("sums up by plant and policy", () => {
    expect(steady!.policies.map(({ name, seeds }) => `${name} ${seeds}`)).toEqual([
      "tradewind-auto 2",
      "hpa-cpu 2",
      "clairvoyant 1",
    ]);
    expect(wave!.policies).toHaveLength(1);
    expect(policy("tradewind-auto").costPerHour.mean).toBeCloseTo(0.2, 12);
    expect(policy("tradewind-auto").levels).toEqual({ queue: 0.5, reactive: 0.5 });
  });

  it("compares seed by seed: a difference that is the same in every pair has no width", () => {
    const { costPerHour } = policy("hpa-cpu").differenceTo!;
    expect(costPerHour.mean).toBeCloseTo(0.1, 12);
    expect(costPerHour.high - costPerHour.low).toBeLessThan(1e-9);
  });

  it("keeps a bound that no policy can reach out of the front", () => {
    expect(policy("tradewind-auto").isOnFront).toBe(true);
    expect(policy("hpa-cpu").isOnFront).toBe(false);
    expect(policy("clairvoyant").isOnFront).toBe(false);
  });

  it("is summed up over all plants in a table with the seeds and the word simulated", () => {
    const text = summary([steady!], [1, 2]);
    expect(text).toContain("Simulated, 2 seeds (1 to 2)");
    expect(text).toMatch(/^\| tradewind-auto \|.*\| 1 \|$/m);
    expect(text).toMatch(/^\| hpa-cpu \|/m);
  });
});

describe("tuning", () => {
  const rivals = CONTENDERS.filter(({ grid }) => grid.length > 0);

  it("has as many candidates for every rival, the defaults in a shape of the grid's", () => {
    for (const { defaults, grid, name } of rivals) {
      expect({ name, candidates: new Set(grid.map((each) => JSON.stringify(each))).size }).toEqual({
        name,
        candidates: GRID_SIZE,
      });
      expect({ name, keys: Object.keys(grid[0]!).toSorted() }).toEqual({
        name,
        keys: Object.keys(defaults).toSorted(),
      });
    }
  });

  it("makes the same number of runs for every rival", () => {
    const jobs = tuningJobs(rivals, [{ name: "wave", family: "shop" }], [1, 2], "replicas");
    const counts = Map.groupBy(jobs, ({ policy }) => policy);
    expect(new Set([...counts.values()].map(({ length }) => length))).toEqual(new Set([16]));
  });

  it("takes the candidate with the lowest mean score over the plants of a family", () => {
    const tried = (target: number, plant: string, requestsOver: number): Run => ({
      ...run("hpa-cpu", 1, { requestsOver, costPerHour: 1 }, plant),
      parameters: { target },
    });
    const runs = [tried(50, "a", 0.01), tried(50, "b", 0.09), tried(70, "a", 0.04), tried(70, "b", 0.03)];
    const families = new Map([
      ["a", "shop"],
      ["b", "shop"],
    ]);
    const costs = new Map([
      ["a", 1],
      ["b", 2],
    ]);
    const [best] = chooseBest(runs, families, costs);
    expect(best).toMatchObject({ policy: "hpa-cpu", family: "shop", parameters: { target: 70 } });
    expect(best!.score).toBeCloseTo((1 + 0.8 + 0.5 + 0.6) / 2, 9);
    expect(scoreOf({ ...RESULT, requestsOver: 0.05, costPerHour: 3 }, 2)).toBeCloseTo(2.5, 9);
  });

  it("goes with the defaults where nothing was chosen, and with what was chosen for the family", () => {
    const contender = rivals.find(({ name }) => name === "hpa-cpu")!;
    const parameters = { targetPercent: 50, scaleDownSeconds: 120 };
    const chosen = {
      policy: "hpa-cpu",
      family: "shop",
      actuators: "replicas",
      parameters,
      score: 1,
    } as const;
    const tuned = { seeds: [1], runsPerRival: 8, score: "", chosen: [chosen] };
    expect(parametersFor(contender, "shop", "replicas", tuned)).toEqual(parameters);
    expect(parametersFor(contender, "fan-out", "replicas", tuned)).toEqual(contender.defaults);
  });

  it("goes with what was chosen for replicas where sizes may move and the rival has no choice of its own", () => {
    const contender = rivals.find(({ name }) => name === "hpa-cpu")!;
    const choice = { policy: "hpa-cpu", family: "shop", score: 1 } as const;
    const forReplicas = { ...choice, actuators: "replicas", parameters: { targetPercent: 50 } } as const;
    const forSizes = {
      ...choice,
      actuators: "replicas+cpu+memory",
      parameters: { targetPercent: 70 },
    } as const;
    const tuned = (chosen: Tuned[]): TunedFile => ({ seeds: [1], runsPerRival: 8, score: "", chosen });
    const parameters = (file: TunedFile): unknown =>
      parametersFor(contender, "shop", "replicas+cpu+memory", file);
    expect(parameters(tuned([forReplicas]))).toEqual(forReplicas.parameters);
    expect(parameters(tuned([forReplicas, forSizes]))).toEqual(forSizes.parameters);
  });
});
