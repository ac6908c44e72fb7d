import { describe, expect, it } from "vitest";
import { PAPER_PLANTS } from "@tradewind/simulator/course/papers/papers.ts";
import { capacityOf, EQUAL_PODS } from "@tradewind/simulator/course/papers/queueflower.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { PodView, World } from "@tradewind/simulator/world.ts";
import { PAPER_CONTENDERS } from "@tradewind/simulator/teacher/distributed.ts";
import { RunWatch } from "../../bench/course/details.ts";
import { runJobs } from "../../bench/course/jobs.ts";
import { changesOf, rowLengths } from "../../bench/course/steadiness.ts";
import { answered, plantsOf, rowsOf, textsOf } from "../../bench/papers/paper.ts";
import type { Column, DetailedRun, Paper, Question } from "../../bench/papers/paper.ts";
import { PAPERS } from "../../bench/papers/papers.ts";
import { carriedLoad, cheapestKept, curedShare, excess, units } from "../../bench/papers/questions.ts";

describe("papers that are restated", () => {
  it.each(PAPERS.map((paper) => [paper.name, paper] as const))(
    "%s names plants and policies that there are, each able to use the paper's actuators",
    (_name, paper) => {
      const plants = PAPER_PLANTS.map(({ name }) => name);
      const { questions = [] } = paper;
      for (const plant of [...plantsOf(paper), ...questions.flatMap((question) => question.plants)])
        expect(plants).toContain(plant);
      for (const { parameters, policy } of [
        ...paper.entrants,
        ...questions.flatMap((question) => question.arms),
      ]) {
        const contender = PAPER_CONTENDERS.find(({ name }) => name === policy);
        expect(contender!.supports?.(paper.actuators) ?? true).toBe(true);
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

describe("a question of a paper", () => {
  const run = (policy: string, seed: number, cores: number, gigabytes = 0): DetailedRun =>
    ({ plant: "a", policy, seed, result: { cores, gigabytes } }) as DetailedRun;
  const missed = (...missedWindows: number[]) => ({ details: { missedWindows } }) as unknown as DetailedRun;

  it("counts a tenth of a core and 50 MB as a unit each", () => {
    expect(units(run("ours", 1, 1.5, 0.2))).toBeCloseTo(19, 12);
  });

  it("compares runs of equal plants and seeds: geometric mean over plants", () => {
    const onB = (each: DetailedRun): DetailedRun => ({ ...each, plant: "b" });
    const own = [run("ours", 1, 1), onB(run("ours", 1, 4)), run("ours", 2, 2)];
    const others = [run("firm", 2, 1), run("firm", 1, 4), onB(run("firm", 1, 4))];
    const cores = ({ result }: DetailedRun): number => result.cores;
    // A quarter on one plant and as much on the other: half. With the second seed twice as much.
    expect(excess(own.slice(0, 2), others, cores).mean).toBeCloseTo(-0.5, 12);
    expect(excess(own, others, cores).mean).toBeCloseTo(0.25, 12);
  });

  it("counts a miss as cured where it lasts for three windows at most, and all as cured where there is none", () => {
    expect(curedShare([missed(1, 4), missed(3, 2)])).toBe(0.75);
    expect(curedShare([missed(), missed()])).toBe(1);
  });

  it("takes a load as carried only where all lower ones are", () => {
    const carried = carriedLoad([
      [0.7, 1],
      [0.85, 0.99],
      [0.95, 0.9],
      [1.1, 0.99],
    ]);
    expect(carried).toBe(0.85);
    expect(carriedLoad([[0.7, 0.5]])).toBe(0);
  });

  it("takes the cheapest of what keeps the objective of every route, and none where none does", () => {
    const arm = (costPerHour: number, ...overs: number[]): readonly DetailedRun[] => {
      const routes = Object.fromEntries(overs.map((requestsOver, route) => [route, { requestsOver }]));
      return [
        { ...run("ours", 1, 1), result: { costPerHour }, details: { routes } } as unknown as DetailedRun,
      ];
    };
    const [kept, dear, missing] = [arm(2, 0.01, 0.05), arm(3, 0, 0), arm(1, 0.001, 0.06)];
    expect(cheapestKept([dear, missing, kept])).toBe(kept);
    expect(cheapestKept([missing])).toBeUndefined();
  });

  it("says the finding that its figures lead to, and how many seeds it had", () => {
    const question = (isAsPublished: boolean): Question => ({
      figure: "Fig. 1",
      asks: "Is it so?",
      published: "yes",
      plants: ["a"],
      arms: [{ policy: "static", label: "ours" }],
      findings: { asPublished: "It is so.", otherwise: "It is not so." },
      answer: (of) => ({ figures: {}, simulated: `${of("ours").length} runs`, isAsPublished }),
    });
    const runs = [run("static", 1, 1), run("static", 2, 1)];
    const [yes, no] = [true, false].map((each) => answered(question(each), () => runs));
    expect(yes).toMatchObject({ finding: "It is so.", seeds: 2, simulated: "2 runs" });
    expect(no!.finding).toBe("It is not so.");
  });

  it("gives QueueFlower's pods to the service that is full first: 10 and 20 ms on six pods carry 200 requests a second", () => {
    expect(capacityOf([0.01, 0.02], 6, 1)).toBeCloseTo(200, 9);
    expect(capacityOf([0.01, 0.02], 3, 0.5)).toBeCloseTo(50, 9);
  });
});

describe("how steady a run is", () => {
  it("counts what happens in a row as one", () => {
    expect(rowLengths([false, true, true, false, true])).toEqual([2, 1]);
    expect(rowLengths([false])).toEqual([]);
  });

  it("takes a change as reverted where the size is back, or beyond, within three windows", () => {
    expect(changesOf([1, 2, 2, 2, 1])).toEqual({ changes: 2, reverted: 1 });
    expect(changesOf([1, 2, 2, 2, 2, 1])).toEqual({ changes: 2, reverted: 0 });
    expect(changesOf([4, 3, 2, 5])).toEqual({ changes: 3, reverted: 2 });
    expect(changesOf([3, 3, 3])).toEqual({ changes: 0, reverted: 0 });
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
  it("count a service that uses over 90 % of its CPU for more than five minutes, once, misses and changes", () => {
    const watch = new RunWatch();
    const route = (requests: number, over: number): object => ({
      route: "GET /",
      percentile: 0.95,
      requests,
      failed: 2,
      over,
      latency: { count: 10, meanSeconds: 0.1, quantileSeconds: () => 0.2 },
      minutes: [{ startMs: 0, requests: 10, failed: 2 }],
    });
    const world = (minute: number, used: number): World =>
      ({
        services: ["a"],
        nowMs: minute * 60_000,
        account: () => ({ routes: [route((minute + 1) * 20, minute < 5 ? 0 : 4)] }),
        replicas: () => (minute < 5 ? 1 : 2),
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
    watch.end(
      { ...account, atMs: 0, podSeconds: 0, usedCoreSeconds: 0, coreSeconds: 0 } as never,
      { ...account, routes: [route(10, 3)] } as never,
    );
    const { details } = watch;
    // Five minutes exactly are not more than five; nine at once are one time.
    expect(details!.overUtilisations).toBe(1);
    expect(details).toMatchObject({ pods: 2, cpuEfficiency: 0.5 });
    expect(details!.all).toMatchObject({ requests: 10, failed: 2, requestsOver: 0.3 });
    // Only the sixth minute adds requests over the objective, and a replica.
    expect(details).toMatchObject({ windows: 15, missedWindows: [1], changes: 1, reverted: 0 });
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
