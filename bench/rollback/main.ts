import { seededRng } from "@tradewind/core/rng.ts";
import type { Rng } from "@tradewind/core/rng.ts";
import type { Benchmark } from "../benchmark.ts";
import { KINDS, runCase } from "./cases.ts";
import type { Kind, Outcome } from "./cases.ts";

const CASES = 200;
const QUICK_CASES = 20;
/** Draws for one case that is what its kind says. */
const MOST_DRAWS = 100;

/** How often changes of each kind are blamed, simulated. */
export interface RollbackReport {
  readonly simulated: true;
  readonly cases: number;
  readonly fires: Readonly<Record<Kind, number>>;
  /** 95 % Wilson intervals of those shares. */
  readonly intervals: Readonly<Record<Kind, readonly [number, number]>>;
  /** From a harmful change to its rollback. */
  readonly medianWindowsToFire: number;
}

/** Cases of each kind in which the objective is missed after the change, or of `nothing` is met. */
export function measure(cases: number, seed: number): RollbackReport {
  const outcomes = new Map(KINDS.map((kind) => [kind, casesOf(kind, cases, seededRng(seed))]));
  const share = (kind: Kind): number => firedOf(outcomes.get(kind) ?? []).length / cases;
  const windows = firedOf(outcomes.get("harmful") ?? []).toSorted((a, b) => a - b);
  return {
    simulated: true,
    cases,
    fires: byKind(share),
    intervals: byKind((kind) => wilson(share(kind), cases)),
    medianWindowsToFire: windows[Math.floor(windows.length / 2)] ?? Number.NaN,
  };
}

function casesOf(kind: Kind, cases: number, rng: Rng): Outcome[] {
  return Array.from({ length: cases }, () => {
    for (let draw = 0; draw < MOST_DRAWS; draw += 1) {
      const outcome = runCase(kind, rng);
      if (outcome.missed === (kind !== "nothing")) return outcome;
    }
    throw new Error(`no case of '${kind}' in ${MOST_DRAWS} draws`);
  });
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
    "how often a rollback blames a harmful change, a load step, a deploy or a noisy neighbour, simulated",
  run: async ({ quick, seed }) => ({ ...measure(quick ? QUICK_CASES : CASES, seed) }),
};
