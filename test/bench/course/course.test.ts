import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { benchmark } from "../../../bench/course/main.ts";
import { runJobs } from "../../../bench/course/jobs.ts";
import type { PlantReport, Run } from "../../../bench/course/report.ts";

const scratch = mkdtempSync(join(tmpdir(), "tradewind-course-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const course = async (values: Record<string, string>) =>
  (await benchmark.run({ seed: 1, quick: false, progress: () => undefined, values })) as {
    readonly plants: readonly PlantReport[];
    readonly seeds: readonly number[];
    readonly runs: readonly Run[];
  };
const text = (name: string, content: unknown): string => {
  const path = join(scratch, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
};

describe("the course as a benchmark", () => {
  it("comes to the same figures in one part and merged from two, and writes them into a document", async () => {
    const choice = { plants: "few-requests", policies: "static,hpa-cpu", workers: "2" };
    const whole = await course({ ...choice, seeds: "2" });
    expect(whole.seeds).toEqual([10_000, 10_001]);
    expect(whole.plants.map(({ name }) => name)).toEqual(["few-requests"]);
    expect(whole.plants[0]!.policies.map(({ name, seeds }) => `${name} ${seeds}`)).toEqual([
      "static 2",
      "hpa-cpu 2",
    ]);

    const parts = whole.seeds.map((seed) => ({ runs: whole.runs.filter((run) => run.seed === seed) }));
    const paths = parts.map((part, at) => text(`part-${at}.json`, part));
    const path = text(
      "page.md",
      "# Page\n\n<!-- course replicas: begin -->\n\nfigures of last year\n\n<!-- course replicas: end -->\n\nrest\n",
    );
    const merged = await course({ merge: paths.join(","), write: path });
    expect(merged.plants).toEqual(whole.plants);
    const page = readFileSync(path, "utf8");
    expect(page).toMatch(/^\| hpa-cpu \|/m);
    expect(page).toContain("Simulated, 2 seeds");
    expect(page).not.toContain("last year");
    expect(page).toMatch(/end -->\n\nrest\n$/);
    const figures = JSON.parse(readFileSync(path.replace(".md", "-replicas.json"), "utf8")) as {
      readonly seeds: readonly number[];
      readonly plants: readonly PlantReport[];
    };
    expect(figures.seeds).toEqual(whole.seeds);
    const { mean } = whole.plants[0]!.policies[0]!.costPerHour;
    expect(figures.plants[0]!.policies[0]!.costPerHour.mean).toBeCloseTo(mean, 4);
  }, 60_000);

  it.each([
    [{ plants: "nowhere" }, "there is no 'nowhere'; there are: steady"],
    [{ policies: "wishing" }, "there is no 'wishing'; there are: tradewind-auto"],
    [{ seeds: "none" }, "'none' is not a whole number"],
    [{ actuators: "everything" }, "--actuators takes one of replicas"],
    [{ merge: text("empty.json", {}) }, "has no 'runs'"],
  ])("refuses %j", async (values: Record<string, string>, problem) => {
    await expect(course(values)).rejects.toThrow(problem);
  });

  it("does not mix runs with different actuators", async () => {
    const run = { plant: "steady", policy: "static", parameters: {}, seed: 1, cpuSeconds: 1, result: {} };
    const runs = [
      { ...run, actuators: "replicas" },
      { ...run, actuators: "replicas+cpu+memory" },
    ];
    await expect(course({ merge: text("mixed.json", { runs }) })).rejects.toThrow("not compared");
  });
});

describe("runJobs", () => {
  it("names the run that failed", async () => {
    const job = {
      plant: "few-requests",
      policy: "nobody",
      actuators: "replicas",
      parameters: {},
      seed: 4,
    } as const;
    await expect(runJobs([job], { what: "test", progress: () => undefined, workers: 1 })).rejects.toThrow(
      "nobody on few-requests, seed 4: there is no policy 'nobody'",
    );
  }, 30_000);
});
