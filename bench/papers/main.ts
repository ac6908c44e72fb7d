/**
 * `npm run -s bench -- papers --json`: tables of published papers, restated with the policies and applications that the
 * simulator has. All figures are simulated; docs/papers.md says what differs from each paper.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { PAPER_PLANTS } from "@tradewind/simulator/course/papers/papers.ts";
import { PAPER_CONTENDERS, TEACHER, teacherParameters } from "@tradewind/simulator/teacher/distributed.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { runJobs } from "../course/jobs.ts";
import type { Job } from "../course/jobs.ts";
import { named, REPORT_SEEDS, wholeNumber } from "../course/main.ts";
import { parametersFor } from "../course/tuning.ts";
import { teacherOf } from "../students/short-teacher.ts";
import { answered, plantsOf, rowsOf, textsOf } from "./paper.ts";
import type { AnsweredQuestion, DetailedRun, Entrant, Paper, Question } from "./paper.ts";
import { PAPERS } from "./papers.ts";

const SEEDS = 2;
const QUICK_PAPERS = new Set(["infrallm"]);

const OPTIONS = {
  papers: { type: "string" },
  questions: { type: "string" },
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

/** Runs of each of the entrants on each of the plants with each of the seeds. */
function jobsOf(
  paper: Paper,
  entrants: readonly Entrant[],
  plants: readonly string[],
  seeds: readonly number[],
): Job[] {
  return seeds.flatMap((seed) =>
    plants.flatMap((plant) =>
      entrants.map((entrant) => ({
        plant,
        policy: entrant.policy,
        actuators: paper.actuators,
        parameters: parametersOf(entrant, plant, paper),
        seed,
        isDetailed: true,
      })),
    ),
  );
}

/** Equal jobs have equal keys: a run that tables and questions need is made once. */
const keyOf = ({ parameters, plant, policy, seed }: Job): string =>
  JSON.stringify([plant, policy, parameters, seed]);

const isDetailed = (run: { readonly details?: unknown }): run is DetailedRun => run.details !== undefined;

/** Digits that a few seeds can say. */
const rounded = (_key: string, value: unknown): unknown =>
  typeof value === "number" ? Number(value.toPrecision(4)) : value;

/** Puts what was found into the file, in place of what it has of the same tables and questions. */
function writeFound(path: string, found: readonly WrittenPaper[]): void {
  const papersBefore = existsSync(path)
    ? (JSON.parse(readFileSync(path, "utf8")) as { readonly papers: readonly WrittenPaper[] }).papers
    : [];
  const papers = PAPERS.map(({ name, questions = [] }) => {
    const [old, now] = [papersBefore, found].map((list) => list.find((paper) => paper.name === name));
    const answers = [...(now?.questions ?? []), ...(old?.questions ?? [])];
    const latest = questions.flatMap(({ figure }) => answers.find((each) => each.figure === figure) ?? []);
    return { ...old, ...now, name, ...(latest.length > 0 && { questions: latest }) };
  });
  writeFileSync(path, `${JSON.stringify({ simulated: true, papers }, rounded, 1)}\n`);
}

interface WrittenPaper {
  readonly name: string;
  readonly seeds?: readonly number[];
  readonly tables?: readonly object[];
  readonly questions?: readonly AnsweredQuestion[];
}

interface PaperChoice {
  readonly seeds: readonly number[];
  /** Of questions alone, `all` or some with commas between them; absent: the tables too. */
  readonly figures: string | undefined;
  readonly teacher: string | undefined;
  readonly workers: string | undefined;
}

/** Makes the runs of one paper, each once, and says what its tables and questions find in them. */
async function restated(paper: Paper, choice: PaperChoice, options: BenchmarkOptions) {
  const { figures, seeds, teacher, workers } = choice;
  const tables = figures === undefined ? paper.tables : [];
  const names = figures === "all" ? undefined : figures?.split(",");
  const questions = (paper.questions ?? []).filter(({ figure }) => names?.includes(figure) !== false);
  const entrants = tables.length > 0 ? await entrantsOf(paper, teacher, options) : [];
  const tableJobs = tables.length > 0 ? jobsOf(paper, entrants, plantsOf(paper), seeds) : [];
  const armJobs = ({ plants, seeds: count = seeds.length }: Question, arm: Entrant): Job[] =>
    jobsOf(paper, [arm], plants, seeds.slice(0, count));
  const questionJobs = questions.flatMap((each) => each.arms.flatMap((arm) => armJobs(each, arm)));
  const jobs = new Map([...tableJobs, ...questionJobs].map((job) => [keyOf(job), job]));
  const runs = await runJobs([...jobs.values()], {
    progress: options.progress,
    what: paper.name,
    ...(workers !== undefined && { workers: wholeNumber(workers, 1) }),
  });
  const byKey = new Map(runs.filter(isDetailed).map((each) => [keyOf(each), each]));
  const runsOf = (some: readonly Job[]): DetailedRun[] => some.flatMap((job) => byKey.get(keyOf(job)) ?? []);
  return {
    runs,
    tables: tables.map((table) => ({ table, rows: rowsOf(paper, table, runsOf(tableJobs)) })),
    answers: questions.map((question) =>
      answered(question, (label) =>
        runsOf(question.arms.filter((arm) => arm.label === label).flatMap((arm) => armJobs(question, arm))),
      ),
    ),
  };
}

async function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { quick, seed, values } = options;
  const text = (name: keyof typeof OPTIONS): string | undefined =>
    typeof values[name] === "string" ? values[name] : undefined;
  const usual = quick ? PAPERS.filter(({ name }) => QUICK_PAPERS.has(name)) : PAPERS;
  const first = wholeNumber(text("first-seed"), REPORT_SEEDS + 1_000 * (seed - 1));
  const write = text("write");
  const results = [];
  const written: WrittenPaper[] = [];
  let cpuSeconds = 0;
  for (const paper of named(PAPERS, text("papers"), usual)) {
    const count = wholeNumber(text("seeds"), quick ? 1 : (paper.seeds ?? SEEDS));
    const seeds = Array.from({ length: count }, (_, at) => first + at);
    const asked = { seeds, figures: text("questions"), teacher: text("teacher"), workers: text("workers") };
    const { answers, runs, tables } = await restated(paper, asked, options);
    cpuSeconds += runs.reduce((sum, each) => sum + each.cpuSeconds, 0);
    const texts = tables.map(({ rows, table }) => ({
      title: table.title,
      rows: rows.map((row) => textsOf(table, row)),
    }));
    written.push({
      name: paper.name,
      ...(texts.length > 0 && { seeds, tables: texts }),
      ...(answers.length > 0 && { questions: answers }),
    });
    results.push({
      name: paper.name,
      seeds,
      actuators: paper.actuators,
      tables: tables.map(({ rows, table: { plants, title } }) => ({ title, plants, rows })),
      questions: answers,
      runs,
    });
  }
  if (write !== undefined) writeFound(write, written);
  return { simulated: true, papers: results, cpuSeconds };
}

export const benchmark: Benchmark = {
  summary: "tables of published papers, restated in the simulator; what differs is in docs/papers.md",
  options: OPTIONS,
  run,
};
