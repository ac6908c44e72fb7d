/**
 * `npm run -s bench -- course --json`: Tradewind and its rivals on the obstacle course of the simulator, in pairs of equal seeds.
 * All figures are simulated.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { HPA_CPU } from "@tradewind/simulator/contenders/hpa.ts";
import { CONTENDERS } from "@tradewind/simulator/contenders/contenders.ts";
import { ACTUATORS } from "@tradewind/simulator/contenders/contender.ts";
import type { Actuators, Contender, Parameters } from "@tradewind/simulator/contenders/contender.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { drawnPlant } from "@tradewind/simulator/training/drawn-plant.ts";
import type { ObstacleModel } from "@tradewind/simulator/course/obstacle.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { writeCourse } from "./document.ts";
import { runJobs } from "./jobs.ts";
import type { Job } from "./jobs.ts";
import { REFERENCE, reportOf } from "./report.ts";
import type { Run } from "./report.ts";
import { hpaJobs, summariesOf } from "./summary.ts";
import {
  chooseBest,
  GRID_SIZE,
  isTunedOn,
  parametersFor,
  readTuned,
  SCORE,
  TUNED_PATH,
  tuningJobs,
} from "./tuning.ts";
import type { TunedFile } from "./tuning.ts";

const SEEDS = 20;
const QUICK_PLANTS = new Set(["steady", "flash-crowd"]);
const QUICK_POLICIES = new Set(["tradewind-auto", "hpa-cpu", "static"]);
/** Seeds of reports and of tunings never meet. */
export const REPORT_SEEDS = 10_000;
const TUNING_SEEDS = 1;
const TUNING_RUNS = 1;
/** Left out unless asked for by name: what is switched off is no policy of its own. */
const ON_REQUEST = new Set([
  "tradewind-auto-curve",
  "tradewind-auto-no-seasons",
  "tradewind-auto-no-node-speeds",
]);

/** Plants of two hours and more, the same. */
const ON_REQUEST_FAMILY = "seasons";

const OPTIONS = {
  plants: { type: "string" },
  drawn: { type: "string" },
  policies: { type: "string" },
  seeds: { type: "string" },
  "first-seed": { type: "string" },
  actuators: { type: "string" },
  workers: { type: "string" },
  tune: { type: "boolean" },
  merge: { type: "string" },
  write: { type: "string" },
} as const;

interface Choice {
  readonly plants: readonly ObstacleModel[];
  readonly policies: readonly Contender[];
  readonly actuators: Actuators;
  /** What ours is summed up with beside {@link actuators}. */
  readonly otherActuators: readonly Actuators[];
  readonly seeds: number;
  readonly firstSeed: number;
  readonly workers?: number;
}

/** @throws Error for a name that there is not */
export function named<Item extends { readonly name: string }>(
  items: readonly Item[],
  list: string | undefined,
  usual: readonly Item[],
): readonly Item[] {
  if (list === undefined) return usual;
  return list.split(",").map((name) => {
    const found = items.find((item) => item.name === name.trim());
    if (found !== undefined) return found;
    throw new Error(`there is no '${name}'; there are: ${items.map((item) => item.name).join(", ")}`);
  });
}

export function wholeNumber(text: string | undefined, usual: number): number {
  const value = text === undefined ? usual : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`'${text}' is not a whole number from 1`);
  return value;
}

function choiceOf({ quick, seed, values }: BenchmarkOptions): Choice {
  const text = (name: keyof typeof OPTIONS): string | undefined =>
    typeof values[name] === "string" ? values[name] : undefined;
  const actuators = ACTUATORS.find((each) => each === (text("actuators") ?? "replicas"));
  if (actuators === undefined) throw new Error(`--actuators takes one of ${ACTUATORS.join(", ")}`);
  const usualPlants = COURSE.filter(({ family, name }) =>
    quick ? QUICK_PLANTS.has(name) : family !== ON_REQUEST_FAMILY,
  );
  const usualPolicies = CONTENDERS.filter(({ name }) =>
    quick ? QUICK_POLICIES.has(name) : !ON_REQUEST.has(name),
  );
  const policies = named(CONTENDERS, text("policies"), usualPolicies);
  const workers = text("workers");
  const firstSeed = wholeNumber(text("first-seed"), REPORT_SEEDS + 1_000 * (seed - 1));
  const drawn = text("drawn");
  return {
    plants:
      drawn === undefined
        ? named(COURSE, text("plants"), usualPlants)
        : Array.from({ length: wholeNumber(drawn, 1) }, (_, at) => drawnPlant(firstSeed + at)),
    policies: policies.filter((policy) => policy.supports?.(actuators) ?? true),
    actuators,
    otherActuators: text("actuators") === undefined ? ACTUATORS.filter((each) => each !== actuators) : [],
    seeds: wholeNumber(text("seeds"), quick ? 1 : SEEDS),
    firstSeed,
    ...(workers !== undefined && { workers: wholeNumber(workers, 1) }),
  };
}

async function measure(options: BenchmarkOptions): Promise<readonly Run[]> {
  const { actuators, firstSeed, otherActuators, plants, policies, seeds, workers } = choiceOf(options);
  const tuned = readTuned();
  const isSummedUp = [REFERENCE, HPA_CPU.name].every((name) => policies.some((each) => each.name === name));
  // Seeds outermost, so that a run that is cut short has all policies on the same seeds.
  const jobs = Array.from({ length: seeds }, (_, at) => firstSeed + at).flatMap((seed) =>
    plants.flatMap(({ family, name: plant }): Job[] => {
      const ofPolicies = policies.map((policy): Job => {
        const parameters = parametersFor(policy, family, actuators, tuned);
        return { plant, policy: policy.name, actuators, parameters, seed };
      });
      if (!isSummedUp) return ofPolicies;
      const others = otherActuators.map((other): Job => {
        return { plant, policy: REFERENCE, actuators: other, parameters: {}, seed };
      });
      return ofPolicies.concat(others, hpaJobs({ plant, actuators, seed }));
    }),
  );
  const { progress } = options;
  return runJobs(distinct(jobs), { progress, what: "course", ...(workers !== undefined && { workers }) });
}

const parametersText = (parameters: Parameters): string =>
  JSON.stringify(Object.entries(parameters).toSorted(([a], [b]) => (a < b ? -1 : 1)));

const distinct = (jobs: readonly Job[]): Job[] => [
  ...new Map(
    jobs.map((job) => [
      `${job.plant} ${job.policy} ${job.actuators} ${job.seed} ${parametersText(job.parameters)}`,
      job,
    ]),
  ).values(),
];

/** Tries every rival's grid on seeds that no report uses, and writes down what was best. */
async function tune(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { actuators, plants, policies, workers } = choiceOf(options);
  const rivals = policies.filter(({ grid }) => grid.length > 0);
  const tunedOn = plants.filter(isTunedOn);
  const count = typeof options.values["seeds"] === "string" ? choiceOf(options).seeds : TUNING_RUNS;
  const seeds = Array.from({ length: count }, (_, at) => TUNING_SEEDS + at);
  const common = { progress: options.progress, ...(workers !== undefined && { workers }) };
  const reference = CONTENDERS.find(({ name }) => name === "hpa-cpu");
  const referenceRuns = await runJobs(
    tunedOn.flatMap(({ name }) =>
      seeds.map((seed) => ({
        plant: name,
        policy: "hpa-cpu",
        actuators,
        parameters: reference?.defaults ?? {},
        seed,
      })),
    ),
    { ...common, what: "reference" },
  );
  const costs = new Map(
    [...Map.groupBy(referenceRuns, ({ plant }) => plant)].map(([plant, runs]) => [
      plant,
      runs.reduce((sum, { result }) => sum + result.costPerHour, 0) / runs.length,
    ]),
  );
  const runs = await runJobs(tuningJobs(rivals, tunedOn, seeds, actuators), { ...common, what: "tuning" });
  const families = new Map(plants.map(({ family, name }) => [name, family]));
  const chosen = chooseBest(runs, families, costs);
  const isNew = ({ actuators: of, family, policy }: TunedFile["chosen"][number]): boolean =>
    chosen.some((each) => each.actuators === of && each.family === family && each.policy === policy);
  const file: TunedFile = {
    seeds,
    runsPerRival: GRID_SIZE * seeds.length,
    score: SCORE,
    chosen: [...readTuned().chosen.filter((each) => !isNew(each)), ...chosen],
  };
  writeFileSync(TUNED_PATH, `${JSON.stringify(file, null, 2)}\n`);
  return { tuned: TUNED_PATH, ...file };
}

/**
 * Parts of one course that several machines made, by the `runs` in their JSON.
 * @throws Error for a file without runs, and for a run that is there twice: it would count twice in the intervals
 */
export function readParts(paths: string): readonly Run[] {
  const all = paths.split(",").flatMap((path) => {
    const { runs } = JSON.parse(readFileSync(path, "utf8")) as { readonly runs?: readonly Run[] };
    if (runs === undefined) throw new Error(`${path} is no report of the course: it has no 'runs'`);
    return runs;
  });
  const seen = new Set<string>();
  for (const { actuators, parameters, plant, policy, seed } of all) {
    const name = `${plant} by ${policy} with ${actuators}, seed ${seed}, ${JSON.stringify(parameters)}`;
    if (seen.has(name)) throw new Error(`two parts have the same run: ${name}`);
    seen.add(name);
  }
  return all;
}

/** Without the runs of rivals with other settings than those chosen on tuning seeds: they are the summary's alone. */
function asTuned(runs: readonly Run[]): readonly Run[] {
  const tuned = readTuned();
  return runs.filter(({ actuators, parameters, plant, policy }) => {
    const contender = CONTENDERS.find(({ name }) => name === policy);
    const family = COURSE.find(({ name }) => name === plant)?.family;
    if (contender === undefined || family === undefined || contender.grid.length === 0) return true;
    return isDeepStrictEqual(parameters, parametersFor(contender, family, actuators, tuned));
  });
}

async function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  if (options.values["tune"] === true) return tune(options);
  const { merge, write } = options.values;
  const runs = typeof merge === "string" ? readParts(merge) : await measure(options);
  const comparedActuators = [
    ...new Set(runs.flatMap((each) => (each.policy === REFERENCE ? [] : [each.actuators]))),
  ];
  if (comparedActuators.length > 1)
    throw new Error(`runs with different actuators are not compared: ${comparedActuators.join(" and ")}`);
  const actuators = comparedActuators[0] ?? runs[0]?.actuators ?? "replicas";
  const compared = runs.filter((each) => each.actuators === actuators);
  const tuned = asTuned(compared);
  const plants = reportOf(tuned);
  const seeds = [...new Set(runs.map(({ seed }) => seed))].toSorted((a, b) => a - b);
  if (typeof write === "string") writeCourse(write, plants, seeds, actuators);
  const cpuSeconds = runs.reduce((sum, each) => sum + each.cpuSeconds, 0);
  return {
    simulated: true,
    plants,
    summary: summariesOf(runs),
    seeds,
    actuators,
    cpuSeconds,
    runs,
  };
}

export const benchmark: Benchmark = {
  summary: "Tradewind and its rivals on the simulated obstacle course, in pairs of equal seeds",
  options: OPTIONS,
  run,
};
