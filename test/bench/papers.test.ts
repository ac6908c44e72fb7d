import { describe, expect, it } from "vitest";
import { PAPER_PLANTS } from "@tradewind/simulator/course/papers/papers.ts";
import { EQUAL_PODS } from "@tradewind/simulator/course/papers/queueflower.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { PodView, World } from "@tradewind/simulator/world.ts";
import { PAPER_CONTENDERS } from "@tradewind/simulator/teacher/distributed.ts";
import { RunWatch } from "../../bench/course/details.ts";
import { runJobs } from "../../bench/course/jobs.ts";
import { plantsOf, rowsOf, textsOf } from "../../bench/papers/paper.ts";
import type { Column, DetailedRun, Paper } from "../../bench/papers/paper.ts";
import { PAPERS } from "../../bench/papers/papers.ts";

describe("papers that are restated", () => {
  it.each(PAPERS.map((paper) => [paper.name, paper] as const))(
    "%s names plants and policies that there are, each able to use the paper's actuators",
    (_name, paper) => {
      const plants = PAPER_PLANTS.map(({ name }) => name);
      for (const plant of plantsOf(paper)) expect(plants).toContain(plant);
      for (const { parameters, policy } of paper.entrants) {
        const contender = PAPER_CONTENDERS.find(({ name }) => name === policy);
        expect(contender?.supports(paper.actuators)).toBe(true);
        expect(Object.keys(parameters ?? contender!.defaults)).toEqual(Object.keys(contender!.defaults));
      }
    },
  );

  it("gives QueueFlower's plants exactly the pods that their cluster can hold", () => {
    for (const plant of PAPER_PLANTS.filter(({ family }) => family === "queueflower")) {
      const { application } = obstacleOf(plant).plant;
      const { cluster, application: model } = plant.model;
      expect(application.budget.pods).toBe(EQUAL_PODS);
      expect(cluster.nodes * cluster.nodeCores).toBe(EQUAL_PODS);
      expect(model.services.reduce((sum, { replicas }) => sum + replicas, 0)).toBe(EQUAL_PODS);
      expect(model.routes.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9);
    }
  });
});

describe("a table of a paper", () => {
  const column = (key: string, plants?: readonly string[]): Column => ({
    title: key,
    key,
    of: ({ result }) => result.cores,
    scale: 10,
    digits: 1,
    ...(plants && { plants }),
  });
  const table = { title: "Both", plants: ["a", "b"], columns: [column("all"), column("a", ["a"])] };
  const paper: Paper = {
    name: "p",
    actuators: "replicas",
    entrants: [{ policy: "static", label: "ours" }],
    tables: [table],
  };
  const run = (plant: string, seed: number, cores: number): DetailedRun =>
    ({ plant, seed, policy: "static", result: { cores } }) as DetailedRun;
  const runs = [run("a", 1, 1), run("b", 1, 3), run("a", 2, 2), run("b", 2, 6), run("c", 1, 99)];

  it("averages over plants, then over seeds, and takes only a column's own plants where it names some", () => {
    const [row] = rowsOf(paper, table, runs);
    // Seeds have means of 2 and 4 over both plants, 1 and 2 over the first.
    expect(row!.figures["all"]!.mean).toBe(3);
    expect(row!.figures["a"]!.mean).toBe(1.5);
    expect(row!.figures["all"]!.high).toBeGreaterThan(3);
  });

  it("is written with the scale and digits of its columns", () => {
    const [row] = rowsOf(
      paper,
      table,
      runs.filter(({ seed }) => seed === 1),
    );
    expect(textsOf(table, row!)).toEqual({ label: "ours", all: "20.0", a: "10.0" });
  });
});

describe("details of a run", () => {
  it("count a service that uses over 90 % of its CPU for more than five minutes, once", () => {
    const watch = new RunWatch();
    const world = (minute: number, used: number): World =>
      ({
        services: ["a"],
        nowMs: minute * 60_000,
        pods: () => [
          { phase: "ready", cpuUsageCores: used, cpuRequestCores: 1 } as PodView,
          { phase: "starting", cpuRequestCores: 1 } as PodView,
        ],
      }) as unknown as World;
    const counted = (minutes: readonly number[], used: number): void => {
      for (const minute of minutes) watch.window(world(minute, used), true);
    };
    counted([0, 1, 2, 3, 4, 5], 0.95);
    counted([6], 0.5);
    counted([7, 8, 9, 10, 11, 12, 13, 14, 15], 0.95);
    const account = {
      atMs: 900_000,
      podSeconds: 1_800,
      usedCoreSeconds: 450,
      coreSeconds: 900,
      routes: [],
    };
    const route = {
      route: "GET /",
      requests: 10,
      failed: 2,
      over: 3,
      latency: { count: 10, meanSeconds: 0.1, quantileSeconds: () => 0.2 },
      minutes: [{ startMs: 0, requests: 10, failed: 2 }],
    };
    watch.end(
      { ...account, atMs: 0, podSeconds: 0, usedCoreSeconds: 0, coreSeconds: 0 } as never,
      { ...account, routes: [route] } as never,
    );
    const { details } = watch;
    // Five minutes exactly are not more than five; nine at once are one time.
    expect(details!.overUtilisations).toBe(1);
    expect(details).toMatchObject({ pods: 2, cpuEfficiency: 0.5 });
    expect(details!.all).toMatchObject({ requests: 10, failed: 2, requestsOver: 0.3 });
    expect(details!.servedPerSecond[0]).toBeCloseTo(8 / 180, 9);
  });

  it("come with a run of the course where they are asked for", async () => {
    const job = { plant: "few-requests", policy: "static", actuators: "replicas", seed: 1 } as const;
    const [run] = await runJobs([{ ...job, parameters: { multiple: 1 }, isDetailed: true }], {
      workers: 1,
      what: "test",
      progress: () => undefined,
    });
    const { details, result } = run!;
    expect(details!.all.requests).toBe(result.requests);
    expect(details!.all.requestsOver).toBeCloseTo(result.requestsOver, 9);
    const [p50, , , , , p95] = details!.all.quantileSeconds;
    expect(p50).toBeLessThan(p95!);
  }, 60_000);
});
