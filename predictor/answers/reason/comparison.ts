import type { ModelOpinion } from "@tradewind/core/contract/explanation.ts";
import type { ReasonerComparison } from "@tradewind/core/contract/accuracy.ts";
import { Count } from "@tradewind/core/contract/quantity.ts";
import { z } from "zod";

/** Fewer pairs say nothing of which is better (InfraLLM, section V). */
const LEAST_PAIRS = 50;
const DAY_MS = 86_400_000;

/** Windows of which two reasoners answered. */
export const PairCounts = z.strictObject({
  a: z.string().min(1).max(200),
  b: z.string().min(1).max(200),
  pairs: Count,
  aBetter: Count,
  bBetter: Count,
});
export type PairCounts = z.infer<typeof PairCounts>;

/** Share of an answer's parts that are true by the checks; 0 of one that is not of the form. */
export function keptShare({ verdicts }: Pick<ModelOpinion, "verdicts">): number {
  const all = Object.values(verdicts).reduce((sum, count) => sum + count, 0);
  return all === 0 ? 0 : (verdicts.kept ?? 0) / all;
}

/** One more window; counts begin again where another pair answers. */
export function withPair(counts: PairCounts | undefined, a: ModelOpinion, b: ModelOpinion): PairCounts {
  const same = counts !== undefined && counts.a === a.model && counts.b === b.model;
  const known = same ? counts : { a: a.model, b: b.model, pairs: 0, aBetter: 0, bBetter: 0 };
  const difference = keptShare(a) - keptShare(b);
  return {
    ...known,
    pairs: known.pairs + 1,
    aBetter: known.aBetter + (difference > 0 ? 1 : 0),
    bBetter: known.bBetter + (difference < 0 ? 1 : 0),
  };
}

export function comparisonOf(counts: PairCounts): ReasonerComparison {
  const { aBetter, bBetter, pairs } = counts;
  return pairs < LEAST_PAIRS ? counts : { ...counts, pValue: signTest(aBetter, bBetter) };
}

/** Two-sided sign test: chance that a fair coin falls at least as unevenly. Ties are left out. */
export function signTest(a: number, b: number): number {
  const tosses = a + b;
  // Of C(n, 0) / 2^n from one to the next, in logarithms: 2^n overflows from 1,024 on.
  let log = -tosses * Math.LN2;
  let tail = 0;
  for (let heads = 0; heads <= Math.min(a, b); heads += 1) {
    tail += Math.exp(log);
    log += Math.log((tosses - heads) / (heads + 1));
  }
  return Math.min(1, 2 * tail);
}

/** Which of two is shown on a day, so that readers of one application see one of them all day. */
export function isBShown(application: string, atMs: number): boolean {
  let hash = Math.floor(atMs / DAY_MS);
  for (const letter of application) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193);
  return ((hash >>> 16) & 1) === 1;
}
