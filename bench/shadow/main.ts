/**
 * `npm run -s bench -- shadow --json`: whether the band of the shadow covers what the HPA itself comes to, in weeks of the simulator. All
 * figures are simulated.
 */
import { ACTUATORS } from "@tradewind/simulator/contenders/contender.ts";
import { COURSE } from "@tradewind/simulator/course/course.ts";
import { obstacleOf } from "@tradewind/simulator/course/plant.ts";
import type { Benchmark } from "../benchmark.ts";
import { named, wholeNumber } from "../course/main.ts";
import { week } from "./week.ts";
import type { Week } from "./week.ts";

const WEEKS = 40;
const QUICK_WEEKS = 1;
const FIRST_SEED = 50_000;

const OPTIONS = {
  plants: { type: "string" },
  weeks: { type: "string" },
  "first-seed": { type: "string" },
  actuators: { type: "string" },
} as const;

/** Rounding slack of sums: where nothing differs the band is a point. */
const SLACK = 1e-9;

const isCovered = ({ high, hpa, low }: Week["cost"]): boolean =>
  hpa >= low * (1 - SLACK) - SLACK && hpa <= high * (1 + SLACK) + SLACK;

const shareOf = (weeks: readonly Week[], isSo: (week: Week) => boolean): number =>
  weeks.filter(isSo).length / weeks.length;

export const benchmark: Benchmark = {
  summary: "whether the shadow's band covers the HPA's true cost and misses",
  options: OPTIONS,
  async run({ progress, quick, values }) {
    const text = (name: keyof typeof OPTIONS): string | undefined =>
      typeof values[name] === "string" ? values[name] : undefined;
    const plants = named(
      COURSE,
      text("plants"),
      COURSE.filter(({ name }) => name === "diurnal-week"),
    );
    const actuators = ACTUATORS.find((each) => each === (text("actuators") ?? "replicas"));
    if (actuators === undefined) throw new Error(`--actuators takes one of ${ACTUATORS.join(", ")}`);
    const count = wholeNumber(text("weeks"), quick ? QUICK_WEEKS : WEEKS);
    const firstSeed = wholeNumber(text("first-seed"), FIRST_SEED);
    const weeks: Week[] = [];
    for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
      for (const plant of plants) {
        weeks.push(await week(obstacleOf(plant), actuators, seed));
        progress(`shadow: ${weeks.length} of ${count * plants.length} weeks`);
      }
    }
    return {
      weeks: weeks.length,
      actuators,
      costCovered: shareOf(weeks, ({ cost }) => isCovered(cost)),
      overCovered: shareOf(weeks, ({ over }) => isCovered(over)),
      each: weeks,
    };
  },
};
