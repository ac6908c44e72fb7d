/**
 * `npm run -s bench -- ready --json`: whether act holds the objective where `ready` says that it is safe, and does not where it says not yet,
 * on the obstacle course. All figures are simulated.
 */
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { Benchmark } from "../benchmark.ts";
import { named, wholeNumber } from "../course/main.ts";
import { watched } from "./watched.ts";
import type { Watched } from "./watched.ts";

const FIRST_SEED = 60_000;
/** Plants of two hours and more. */
const ON_REQUEST_FAMILY = "seasons";
const QUICK_PLANTS = new Set(["steady", "small-limits"]);

const OPTIONS = {
  plants: { type: "string" },
  seeds: { type: "string" },
  "first-seed": { type: "string" },
} as const;

const countOf = (all: readonly Watched[], isSo: (one: Watched) => boolean): number => all.filter(isSo).length;

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
    const each: Watched[] = [];
    for (let seed = firstSeed; seed < firstSeed + seeds; seed += 1) {
      for (const plant of plants) {
        each.push(await watched(obstacleOf(plant), seed));
        progress(`ready: ${each.length} of ${seeds * plants.length} runs`);
      }
    }
    return {
      runs: each.length,
      right: countOf(each, ({ holds, isSafe }) => holds === isSafe) / each.length,
      safeAndHeld: countOf(each, ({ holds, isSafe }) => isSafe && holds),
      safeAndMissed: countOf(each, ({ holds, isSafe }) => isSafe && !holds),
      notYetAndHeld: countOf(each, ({ holds, isSafe }) => !isSafe && holds),
      notYetAndMissed: countOf(each, ({ holds, isSafe }) => !isSafe && !holds),
      each,
    };
  },
};
