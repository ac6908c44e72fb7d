/**
 * `npm run -s bench -- ready --json`: whether act holds the objective where `ready` says that it is safe, and does not where it says not yet,
 * on the obstacle course. All figures are simulated.
 */
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { Benchmark } from "../benchmark.ts";
import { named, wholeNumber } from "../course/main.ts";
import { watched } from "./watched.ts";
import type { ReadyRun } from "./watched.ts";

const FIRST_SEED = 60_000;
/** Plants of two hours and more. */
const ON_REQUEST_FAMILY = "seasons";
const QUICK_PLANTS = new Set(["steady", "small-limits"]);

const OPTIONS = {
  plants: { type: "string" },
  seeds: { type: "string" },
  "first-seed": { type: "string" },
} as const;

const countOf = (all: readonly ReadyRun[], isSo: (run: ReadyRun) => boolean): number =>
  all.filter(isSo).length;

export const benchmark: Benchmark = {
  summary: "whether ready says safe where act then holds the objective, and not yet where it does not",
  options: OPTIONS,
  async run({ progress, quick, values }) {
    const text = (name: keyof typeof OPTIONS): string | undefined =>
      typeof values[name] === "string" ? values[name] : undefined;
    const usual = COURSE.filter(({ family, name }) =>
      quick ? QUICK_PLANTS.has(name) : family !== ON_REQUEST_FAMILY,
    );
    const plants = named(COURSE, text("plants"), usual);
    const firstSeed = wholeNumber(text("first-seed"), FIRST_SEED);
    const seeds = wholeNumber(text("seeds"), 1);
    const runs: ReadyRun[] = [];
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      for (const plant of plants) {
        runs.push(await watched(obstacleOf(plant), seed));
        progress(`ready: ${runs.length} of ${seeds * plants.length} runs`);
      }
    }
    return {
      runs: runs.length,
      right: countOf(runs, ({ holds, isSafe }) => holds === isSafe) / runs.length,
      safeAndHeld: countOf(runs, ({ holds, isSafe }) => isSafe && holds),
      safeAndMissed: countOf(runs, ({ holds, isSafe }) => isSafe && !holds),
      notYetAndHeld: countOf(runs, ({ holds, isSafe }) => !isSafe && holds),
      notYetAndMissed: countOf(runs, ({ holds, isSafe }) => !isSafe && !holds),
      each: runs,
    };
  },
};
