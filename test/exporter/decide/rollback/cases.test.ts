import { seededRng } from "@tradewind/core/values/rng.ts";
import { median } from "@tradewind/core/values/statistics.ts";
import { expect, it } from "vitest";
import { KINDS, runCase } from "./cases.ts";
import type { Kind, Outcome } from "./cases.ts";

const CASES = 4;
const MOST_DRAWS = 80;
const SEED = 3;

/** Cases in which the objective is missed after the change, or of `nothing` is met. */
async function casesOf(kind: Kind): Promise<Outcome[]> {
  const rng = seededRng(SEED);
  const outcomes: Outcome[] = [];
  for (let draw = 0; outcomes.length < CASES && draw < MOST_DRAWS; draw += 1) {
    const outcome = await runCase(kind, rng);
    if (outcome.missed === (kind !== "nothing")) outcomes.push(outcome);
  }
  return outcomes;
}

const windowsOf = (outcomes: readonly Outcome[]): number[] =>
  outcomes.flatMap(({ firedAfterWindows }) => firedAfterWindows ?? []);

it(
  "rolls simulated harmful changes back, and no load step, deploy, noisy neighbour or harmless change",
  { timeout: 180_000 },
  async () => {
    const found = new Map<Kind, Outcome[]>();
    for (const kind of KINDS) found.set(kind, await casesOf(kind));
    const counts = [...found].map(([kind, outcomes]) => [kind, outcomes.length, windowsOf(outcomes).length]);
    expect(counts).toEqual([
      ["harmful", CASES, CASES],
      ["loadStep", CASES, 0],
      ["deploy", CASES, 0],
      ["interference", CASES, 0],
      ["nothing", CASES, 0],
    ]);
    const harmful = found.get("harmful") ?? [];
    expect(median(windowsOf(harmful))).toBeLessThanOrEqual(3);
    expect(harmful.filter(({ isWell }) => isWell).length).toBeGreaterThanOrEqual(0.75 * CASES);
  },
);
