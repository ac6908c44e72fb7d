import { seededRng } from "@tradewind/core/values/rng.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Benchmark } from "../benchmark.ts";
import { KINDS, runCase } from "./cases.ts";
import type { Kind, Outcome } from "./cases.ts";

const CASES = 200;
const QUICK_CASES = 20;
/** Draws for each case that is what its kind says. */
const MOST_DRAWS = 20;

/** How often changes of each kind are blamed, simulated. */
export interface RollbackReport {
  readonly simulated: true;
  readonly cases: number;
  readonly fires: Readonly<Record<Kind, number>>;
  /** 95 % Wilson intervals of those shares. */
  readonly intervals: Readonly<Record<Kind, readonly [number, number]>>;
  /** From the plan of a harmful change to its rollback. */
  readonly medianWindowsToFire: number;
  /** Share of the harmful changes that were rolled back of which the objective is met at the end of the run. */
  readonly recovered: number;
}

/** Cases of each kind in which the objective is missed after the change, or of `nothing` is met. */
export async function measure(cases: number, seed: number): Promise<RollbackReport> {
  const outcomes = new Map<Kind, Outcome[]>();
  for (const kind of KINDS) outcomes.set(kind, await casesOf(kind, cases, seededRng(seed)));
  const share = (kind: Kind): number => firedOf(outcomes.get(kind) ?? []).length / cases;
  const rolledBack = (outcomes.get("harmful") ?? []).filter((each) => each.firedAfterWindows !== undefined);
  const windows = firedOf(outcomes.get("harmful") ?? []).toSorted((a, b) => a - b);
  return {
    simulated: true,
    cases,
    fires: byKind(share),
    intervals: byKind((kind) => wilson(share(kind), cases)),
    recovered: rolledBack.filter(({ isWell }) => isWell).length / Math.max(1, rolledBack.length),
    medianWindowsToFire: windows[Math.floor(windows.length / 2)] ?? Number.NaN,
  };
}

async function casesOf(kind: Kind, cases: number, rng: Rng): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let draw = 0; outcomes.length < cases; draw += 1) {
    if (draw >= MOST_DRAWS * cases) throw new Error(`too few cases of '${kind}' in ${draw} draws`);
    const outcome = await runCase(kind, rng);
    if (outcome.missed === (kind !== "nothing")) outcomes.push(outcome);
  }
  return outcomes;
}

const firedOf = (outcomes: readonly Outcome[]): number[] =>
  outcomes.flatMap(({ firedAfterWindows }) => firedAfterWindows ?? []);

function byKind<Value>(value: (kind: Kind) => Value): Record<Kind, Value> {
  return Object.fromEntries(KINDS.map((kind) => [kind, value(kind)])) as Record<Kind, Value>;
}

/** Wilson's score interval of a share at 95 %. */
function wilson(share: number, count: number): [number, number] {
  const z = 1.96;
  const middle = (share + z ** 2 / (2 * count)) / (1 + z ** 2 / count);
  const half =
    (z / (1 + z ** 2 / count)) * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}

export const benchmark: Benchmark = {
  summary:
    "how often a harmful change, a load step, a deploy or a noisy neighbour is rolled back, simulated with the real predictor and guard",
  run: async ({ quick, seed }) => ({ ...(await measure(quick ? QUICK_CASES : CASES, seed)) }),
};
