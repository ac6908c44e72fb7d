/** `npm run -s bench -- policies --json`: policy `auto` beside its rivals on the local platform, seed by seed, with real processes. */
import { median } from "@tradewind/core/values/statistics.ts";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { APPLICATION_NAMES } from "@tradewind/local/application/applications.ts";
import type { Benchmark, BenchmarkOptions } from "../benchmark.ts";
import { compare, tableOf } from "./comparison.ts";
import type { Comparison } from "./comparison.ts";
import { runOnce } from "./one-run.ts";
import type { Order, RunFigures } from "./one-run.ts";

const OURS = "auto";
const RIVALS = ["hpa:60", "keda-rps:30", "queue"];
const SEEDS = 5;
/** The phases of `npm start`. */
const SECONDS = 150;
const QUICK_SECONDS = 40;
/** Installing nothing, but starting and stopping some thirty processes. */
const START_AND_STOP_SECONDS = 15;
/** The seed of a figure that settings were tried out with is not among those it is quoted for. */
const FIRST_SEED = 201;

/**
 * Runs of one seed do the same work, so a request takes the same CPU time in all, a fifth more or less for the number of
 * processes. Beyond this ratio to the median the machine did not have the same speed: on a shared host it loses up to half of
 * it for minutes, and a comparison then tells of the neighbours rather than of policies.
 */
const MOST_SPEED_RATIO = 1.4;
/** Runs that may be made again for that; then what there is counts. */
const MOST_REPEATS = 3;

const wordsOf = (value: unknown, preset: readonly string[]): readonly string[] =>
  typeof value === "string" ? value.split(",").map((each) => each.trim()) : preset;

async function run(options: BenchmarkOptions): Promise<Record<string, unknown>> {
  const { reports } = options.values;
  if (typeof reports === "string") {
    mkdirSync(reports, { recursive: true });
    return runAll(options, reports);
  }
  const scratch = mkdtempSync(join(tmpdir(), "tradewind-policies-"));
  try {
    return await runAll(options, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Who goes first changes from seed to seed: the machine's own drift shall favour nobody. */
function ordersOf({ quick, seed, values }: BenchmarkOptions): readonly (readonly Order[])[] {
  const policies = [OURS, ...wordsOf(values["rivals"], RIVALS)];
  const applications = wordsOf(values["applications"], APPLICATION_NAMES);
  const count = Number(values["seeds"] ?? (quick ? 1 : SEEDS));
  if (!Number.isInteger(count) || count < 1) throw new Error("--seeds is a whole number from 1 on");
  const first = Number(values["first-seed"] ?? FIRST_SEED + 1_000 * (seed - 1));
  const seconds = quick ? QUICK_SECONDS : SECONDS;
  return Array.from({ length: count }, (_, at) => at).flatMap((at) =>
    applications.map((application) => {
      const turn = at % policies.length;
      return [...policies.slice(turn), ...policies.slice(0, turn)].map((policy) => ({
        application,
        policy,
        seed: first + at,
        seconds,
      }));
    }),
  );
}

/** The run on a machine of clearly another speed than in the others of its group, if there is one. */
function oddOne(group: readonly RunFigures[]): number | undefined {
  const usual = median(group.map((each) => each.cpuSecondsPerRequest));
  const at = group.findIndex((each) => each.cpuSecondsPerRequest > MOST_SPEED_RATIO * usual);
  return at < 0 ? undefined : at;
}

async function runAll(options: BenchmarkOptions, directory: string): Promise<Record<string, unknown>> {
  const { progress } = options;
  const groups = ordersOf(options);
  const count = groups.flat().length;
  const seconds = groups[0]?.[0]?.seconds ?? SECONDS;
  progress(
    `policies: ${count} runs, at most ${Math.ceil((count * (seconds + START_AND_STOP_SECONDS)) / 60)} min`,
  );
  const runs: RunFigures[] = [];
  let repeats = 0;
  for (const group of groups) {
    const done: RunFigures[] = [];
    for (const order of group) {
      const figures = await runOnce(order, directory);
      done.push(figures);
      progress(`${runs.length + done.length} of ${count}: ${describe(figures)}`);
    }
    for (let odd = oddOne(done); odd !== undefined && repeats < MOST_REPEATS; odd = oddOne(done)) {
      const order = group[odd];
      if (order === undefined) break;
      repeats += 1;
      progress(`the machine was slower for ${order.policy}, which runs again`);
      done[odd] = await runOnce(order, directory, true);
    }
    runs.push(...done);
  }
  const comparisons = comparisonsOf(runs);
  progress(tableOf(comparisons));
  return { durationS: seconds, comparisons, runs, repeats };
}

function describe({ application, costPerHour, policy, requests, requestsOver, seed }: RunFigures): string {
  return `${application}, seed ${seed}, ${policy}: ${requestsOver} of ${requests} over, ${costPerHour.toFixed(4)} an hour`;
}

function comparisonsOf(runs: readonly RunFigures[]): Comparison[] {
  const rivals = runs.filter(({ policy }) => policy !== OURS);
  const groups = Object.values(
    Object.groupBy(rivals, ({ application, policy }) => `${application} ${policy}`),
  ) as RunFigures[][];
  return groups.flatMap((group) => {
    const [first, ...others] = group.flatMap((rival) => {
      const ours = runs.find(
        ({ application, policy, seed }) =>
          policy === OURS && application === rival.application && seed === rival.seed,
      );
      return ours === undefined ? [] : [{ ours, rival }];
    });
    return first === undefined ? [] : [compare([first, ...others])];
  });
}

export const benchmark: Benchmark = {
  summary:
    "policy auto beside an HPA, KEDA on requests and queue balancing on the local platform, both applications (110 min)",
  options: {
    applications: { type: "string" },
    rivals: { type: "string" },
    seeds: { type: "string" },
    "first-seed": { type: "string" },
    reports: { type: "string" },
  },
  run,
};
