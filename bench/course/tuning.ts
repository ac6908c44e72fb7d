import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseJsonWith } from "@tradewind/core/values/config.ts";
import { ACTUATORS } from "@tradewind/simulator/contenders/contender.ts";
import type { Actuators, Contender, Parameters } from "@tradewind/simulator/contenders/contender.ts";
import type { RunResult } from "@tradewind/simulator/contenders/run.ts";
import { z } from "zod";
import type { Job } from "./jobs.ts";
import type { Run } from "./report.ts";

/** Every rival has this many candidates, and so the same number of runs. */
export const GRID_SIZE = 8;

const Tuned = z.strictObject({
  actuators: z.enum(ACTUATORS),
  policy: z.string(),
  family: z.string(),
  parameters: z.record(z.string(), z.union([z.number(), z.string()])),
  score: z.number(),
});
export type Tuned = z.infer<typeof Tuned>;

export const TunedFile = z.strictObject({
  seeds: z.array(z.number()),
  runsPerRival: z.number(),
  score: z.string(),
  chosen: z.array(Tuned),
});
export type TunedFile = z.infer<typeof TunedFile>;

export const TUNED_PATH = join(import.meta.dirname, "tuned.json");

/** What a rival is judged by while it is tuned, in words for the file. */
export const SCORE =
  "cost per hour over that of hpa-cpu with its defaults on the same plant, plus requests over the objective over the 5 % allowed; the mean over plants and seeds, lowest best";

export const scoreOf = (result: RunResult, referenceCost: number): number =>
  result.costPerHour / referenceCost + result.requestsOver / 0.05;

/** Families that are tuned on their ordinary days alone: nobody tunes for an incident before it happens. */
const ORDINARY: Readonly<Record<string, readonly string[]>> = {
  shop: ["wave"],
  tight: ["tight-90"],
  "one-thread": ["one-thread"],
};

export const isTunedOn = ({ family, name }: { readonly name: string; readonly family: string }): boolean =>
  ORDINARY[family]?.includes(name) ?? true;

/** All runs of a tuning: every candidate of every rival on every plant and seed. */
export function tuningJobs(
  rivals: readonly Contender[],
  plants: readonly { readonly name: string; readonly family: string }[],
  seeds: readonly number[],
  actuators: Actuators,
): Job[] {
  return rivals.flatMap(({ grid, name }) =>
    plants.flatMap((plant) =>
      grid.flatMap((parameters) =>
        seeds.map((seed) => ({ plant: plant.name, policy: name, actuators, parameters, seed })),
      ),
    ),
  );
}

/** The candidate with the lowest mean score of each rival in each family of plants. */
export function chooseBest(
  runs: readonly Run[],
  familyOf: ReadonlyMap<string, string>,
  referenceCosts: ReadonlyMap<string, number>,
): Tuned[] {
  const scored = runs.map((run) => ({
    ...run,
    family: familyOf.get(run.plant) ?? run.plant,
    score: scoreOf(run.result, referenceCosts.get(run.plant) ?? Number.NaN),
  }));
  return [...Map.groupBy(scored, ({ family, policy }) => `${policy}\n${family}`).values()].flatMap((each) => {
    const candidates = [...Map.groupBy(each, ({ parameters }) => JSON.stringify(parameters)).values()].map(
      (same) => ({ first: same[0], score: same.reduce((sum, { score }) => sum + score, 0) / same.length }),
    );
    const [best] = candidates.sort((a, b) => a.score - b.score);
    if (best?.first === undefined) return [];
    const { actuators, family, parameters, policy } = best.first;
    return [{ actuators, policy, family, parameters, score: best.score }];
  });
}

/** The committed choice; a rival without one goes with its defaults. */
export function readTuned(): TunedFile {
  return parseJsonWith(TunedFile, readFileSync(TUNED_PATH, "utf8"), "bench/course/tuned.json");
}

/** A rival that moves replicas alone is tuned with replicas alone, and runs alike where sizes may move too. */
export function parametersFor(
  { defaults, grid, name }: Contender,
  family: string,
  actuators: Actuators,
  tuned: TunedFile | undefined,
): Parameters {
  if (grid.length === 0) return defaults;
  const chosen = tuned?.chosen.filter((each) => each.policy === name && each.family === family) ?? [];
  const own =
    chosen.find((each) => each.actuators === actuators) ??
    chosen.find((each) => each.actuators === "replicas");
  return own?.parameters ?? defaults;
}
