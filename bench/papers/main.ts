/**
 * `npm run -s bench -- papers --json`: tables of published papers, restated with the policies and applications that the
 * simulator has. All figures are simulated; docs/papers.md says what differs from each paper.
 */
import { writeFileSync } from "node:fs";
import { PAPER_PLANTS } from "@tradewind/simulator/course/papers/papers.ts";
import { PAPER_CONTENDERS, TEACHER, teacherParameters } from "@tradewind/simulator/teacher/distributed.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { runJobs } from "../course/jobs.ts";
import type { Job } from "../course/jobs.ts";
import { named, REPORT_SEEDS, wholeNumber } from "../course/main.ts";
import { parametersFor } from "../course/tuning.ts";
import { teacherOf } from "../students/short-teacher.ts";
import { plantsOf, rowsOf, textsOf } from "./paper.ts";
import type { DetailedRun, Entrant, Paper } from "./paper.ts";
import { PAPERS } from "./papers.ts";

const SEEDS = 2;
const QUICK_PAPERS = new Set(["infrallm"]);

const OPTIONS = {
  papers: { type: "string" },
  seeds: { type: "string" },
  "first-seed": { type: "string" },
  teacher: { type: "string" },
  workers: { type: "string" },
  write: { type: "string" },
} as const;

/** As the paper has it, else as the policy has it by default: no rival is tuned here. */
function parametersOf(
  { parameters, policy }: Entrant,
  plant: string,
  { actuators }: Paper,
): Job["parameters"] {
  const contender = PAPER_CONTENDERS.find(({ name }) => name === policy);
  if (contender === undefined) throw new Error(`there is no policy '${policy}'`);
  const family = PAPER_PLANTS.find(({ name }) => name === plant)?.family ?? "";
  return parameters ?? parametersFor(contender, family, actuators, undefined);
}

/** With a teacher where the paper has one: read from a file, or trained for a minute. */
async function entrantsOf(
  { entrants }: Paper,
  file: string | undefined,
  options: BenchmarkOptions,
): Promise<readonly Entrant[]> {
  if (!entrants.some(({ policy }) => policy === TEACHER.name)) return entrants;
  const parameters = teacherParameters(await teacherOf(file, options));
  return entrants.map((entrant) => (entrant.policy === TEACHER.name ? { ...entrant, parameters } : entrant));
}

function jobsOf(paper: Paper, entrants: readonly Entrant[], seed: number): Job[] {
  return plantsOf(paper).flatMap((plant) =>
    entrants.map((entrant) => ({
      plant,
      policy: entrant.policy,
      actuators: paper.actuators,
      parameters: parametersOf(entrant, plant, paper),
      seed,
      isDetailed: true,
    })),
  );
}

const isDetailed = (run: { readonly details?: unknown }): run is DetailedRun => run.details !== undefined;

async function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { progress, quick, seed, values } = options;
  const text = (name: keyof typeof OPTIONS): string | undefined =>
    typeof values[name] === "string" ? values[name] : undefined;
  const usual = quick ? PAPERS.filter(({ name }) => QUICK_PAPERS.has(name)) : PAPERS;
  const papers = named(PAPERS, text("papers"), usual);
  const first = wholeNumber(text("first-seed"), REPORT_SEEDS + 1_000 * (seed - 1));
  const workers = text("workers");
  const write = text("write");
  const results = [];
  const written: object[] = [];
  let cpuSeconds = 0;
  for (const paper of papers) {
    const count = wholeNumber(text("seeds"), quick ? 1 : (paper.seeds ?? SEEDS));
    const seeds = Array.from({ length: count }, (_, at) => first + at);
    const entrants = await entrantsOf(paper, text("teacher"), options);
    const runs = await runJobs(
      seeds.flatMap((each) => jobsOf(paper, entrants, each)),
      { progress, what: paper.name, ...(workers !== undefined && { workers: wholeNumber(workers, 1) }) },
    );
    cpuSeconds += runs.reduce((sum, each) => sum + each.cpuSeconds, 0);
    const detailed = runs.filter(isDetailed);
    const tables = paper.tables.map((table) => ({ table, rows: rowsOf(paper, table, detailed) }));
    written.push({
      name: paper.name,
      seeds,
      tables: tables.map(({ rows, table }) => ({
        title: table.title,
        rows: rows.map((row) => textsOf(table, row)),
      })),
    });
    results.push({
      name: paper.name,
      seeds,
      actuators: paper.actuators,
      tables: tables.map(({ rows, table: { plants, title } }) => ({ title, plants, rows })),
      runs,
    });
  }
  if (write !== undefined)
    writeFileSync(write, `${JSON.stringify({ simulated: true, papers: written }, null, 1)}\n`);
  return { simulated: true, papers: results, cpuSeconds };
}

export const benchmark: Benchmark = {
  summary: "tables of published papers, restated in the simulator; what differs is in docs/papers.md",
  options: OPTIONS,
  run,
};
