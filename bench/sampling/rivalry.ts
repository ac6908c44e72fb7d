import type { Policy } from "./policies.ts";
import type { Figures } from "./score.ts";

/** A policy and its figures by signal. */
export interface Measured {
  readonly policy: Policy;
  readonly by: ReadonlyMap<string, Figures>;
}

/** Fixed and doubling intervals, not timed by windows and without a guard. */
const RIVALS = /^(fixed \d+ s|doubling to \d+ s)$/;

interface Line {
  readonly name: string;
  readonly keptRatio: number;
  readonly offWindowsRatio: number;
}

/**
 * For every signal what the best fixed or doubling interval does: at most our share of windows off with the fewest reads, and
 * at most our reads with the fewest windows off; absent where there is none.
 */
export function rivalry(measured: readonly Measured[], names: readonly string[]): unknown[] {
  const own = measured.find(({ policy }) => policy.name === "ours");
  return names.map((name) => {
    const mine = own?.by.get(name);
    if (mine === undefined) return { name };
    const rivals = measured
      .filter(({ policy }) => RIVALS.test(policy.name))
      .flatMap(({ policy, by }) => lineOf(policy.name, by.get(name)));
    const atError = rivals
      .filter(({ offWindowsRatio }) => offWindowsRatio <= Math.max(mine.offWindowsRatio, LEAST_RATIO))
      .toSorted((a, b) => a.keptRatio - b.keptRatio)[0];
    const atCost = rivals
      .filter(({ keptRatio }) => keptRatio <= mine.keptRatio)
      .toSorted((a, b) => a.offWindowsRatio - b.offWindowsRatio)[0];
    return { name, ours: lineOf("ours", mine)[0], atError, atCost };
  });
}

/** Shares of windows below this are the same. */
const LEAST_RATIO = 0.005;

function lineOf(name: string, figures: Figures | undefined): Line[] {
  if (figures === undefined) return [];
  const { keptRatio, offWindowsRatio } = figures;
  return [{ name, keptRatio, offWindowsRatio }];
}
