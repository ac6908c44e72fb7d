import { describe, expect, it } from "vitest";
import { hpaJobs, summariesOf } from "../../../bench/course/summary.ts";
import type { Run } from "../../../bench/course/report.ts";

const RESULT = {
  minutesOver: 0,
  cores: 1,
  gigabytes: 1,
  starts: 0,
  stops: 0,
  failed: 0,
  oomKills: 0,
  requests: 1_000,
};

/** @param over percent of the requests over the objective */
const run = (
  plant: string,
  over: number,
  costPerHour: number,
  { seed = 1, ...rest }: Partial<Pick<Run, "actuators" | "parameters" | "policy" | "seed">> = {},
): Run => ({
  plant,
  policy: "tradewind-auto",
  actuators: "replicas",
  parameters: {},
  seed,
  ...rest,
  cpuSeconds: 1,
  result: { ...RESULT, requestsOver: over / 100, requestsOverFromStart: over / 100, costPerHour },
});
const hpa = (plant: string, targetPercent: number, over: number, costPerHour: number, seed = 1): Run =>
  run(plant, over, costPerHour, {
    policy: "hpa-cpu",
    parameters: { targetPercent, scaleDownSeconds: 300 },
    seed,
  });

describe("the summary of a course", () => {
  it("compares with the cheapest of HPA-50 to HPA-80 that keeps the objective of a plant", () => {
    const runs = [
      hpa("wave", 40, 0, 0.1),
      hpa("wave", 50, 1, 3),
      hpa("wave", 60, 4, 2),
      hpa("wave", 80, 6, 1),
      run("wave", 2, 1),
      hpa("calm", 70, 0, 1),
      run("calm", 0, 2),
    ];
    expect(summariesOf(runs)).toEqual({ replicas: { ratio: 1, dearerIn: 1, missed: [] } });
    const wave = runs.filter(({ plant }) => plant === "wave");
    expect(summariesOf(wave)).toEqual({ replicas: { ratio: 0.5, dearerIn: 0, missed: [] } });
  });

  it("names plants that an HPA holds and ours does not, and leaves out those that no HPA holds", () => {
    const runs = [
      hpa("surge", 50, 5, 3),
      run("surge", 5.1, 1),
      hpa("storm", 50, 5.1, 1),
      run("storm", 20, 9),
    ];
    expect(summariesOf(runs)).toEqual({ replicas: { ratio: null, dearerIn: 0, missed: ["surge"] } });
  });

  it("judges means over seeds", () => {
    const runs = [
      hpa("wave", 60, 0, 1, 1),
      hpa("wave", 60, 8, 3, 2),
      run("wave", 9, 1, { seed: 1 }),
      run("wave", 0, 1, { seed: 2 }),
    ];
    expect(summariesOf(runs)).toEqual({ replicas: { ratio: 0.5, dearerIn: 0, missed: [] } });
  });

  it("has sizes beside replicas, and nothing without one of the rivals", () => {
    const sizes = run("wave", 1, 1, { actuators: "replicas+cpu+memory" });
    expect(summariesOf([hpa("wave", 60, 1, 2), run("wave", 1, 3), sizes])).toEqual({
      replicas: { ratio: 1.5, dearerIn: 1, missed: [] },
      sizes: { ratio: 0.5, dearerIn: 0, missed: [] },
    });
    expect(summariesOf([run("wave", 1, 3), hpa("wave", 40, 1, 2)])).toEqual({});
  });

  it("takes HPAs with the window of Kubernetes, at four targets", () => {
    expect(
      hpaJobs({ plant: "wave", actuators: "replicas", seed: 7 }).map(({ parameters }) => parameters),
    ).toEqual([50, 60, 70, 80].map((targetPercent) => ({ targetPercent, scaleDownSeconds: 300 })));
  });
});
