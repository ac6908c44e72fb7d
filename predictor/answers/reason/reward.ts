import type { Root } from "./grammar.ts";
import { FORMAT_CHECKS } from "./grammar.ts";

/** ORACL leaves all of these open but for `podWeight`, "a small weight". */
export const REWARD_SETTINGS = {
  /** alpha of Eq. 7: weight of naming the right service whatever the type. */
  podWeight: 0.2,
  /** b of Eq. 6: above 1, a missed cause costs more than a wrong one. */
  recallWeight: 2,
  /** delta of Eq. 7: for at least one right pair. */
  anyRight: 0.1,
  /** d and tau of Eq. 8: for each missed cause beyond so many. */
  perMissed: 0.1,
  missedFree: 1,
  /** L_min and L_max of Eq. 10, tokens. */
  fewTokens: 200,
  manyTokens: 2_000,
  /** `correct` of Eq. 11 from this result on. */
  correctFrom: 0.8,
  /** kappa of Eq. 12. */
  kappa: 0.02,
} as const;
const EPSILON = 1e-6;

const pairOf = ({ id, type }: Root): string => `${id} ${type}`;

/** S_pod (Eq. 5): services rightly over all services named, whatever the type. */
export function podScore(named: readonly Root[], truth: readonly Root[]): number {
  const right = new Set(truth.map(({ id }) => id));
  const ids = [...new Set(named.map(({ id }) => id))];
  const matched = ids.filter((id) => right.has(id)).length;
  return matched / (ids.length + EPSILON);
}

/** Right, missed and wrong (service, type) pairs. */
export function countPairs(
  named: readonly Root[],
  truth: readonly Root[],
): { readonly right: number; readonly missed: number; readonly wrong: number } {
  const [given, wanted] = [new Set(named.map(pairOf)), new Set(truth.map(pairOf))];
  const right = [...given].filter((pair) => wanted.has(pair)).length;
  return { right, missed: wanted.size - right, wrong: given.size - right };
}

/** F_b (Eq. 6). */
export function fScore({ missed, right, wrong }: ReturnType<typeof countPairs>): number {
  const square = REWARD_SETTINGS.recallWeight ** 2;
  return ((1 + square) * right) / ((1 + square) * right + square * missed + wrong + EPSILON);
}

/** R_base (Eq. 7). */
export function baseReward(named: readonly Root[], truth: readonly Root[]): number {
  const { anyRight, podWeight } = REWARD_SETTINGS;
  const pairs = countPairs(named, truth);
  return (
    podWeight * podScore(named, truth) + (1 - podWeight) * fScore(pairs) + (pairs.right > 0 ? anyRight : 0)
  );
}

/** R_result (Eq. 8). */
export function resultReward(named: readonly Root[], truth: readonly Root[]): number {
  const { missedFree, perMissed } = REWARD_SETTINGS;
  const { missed } = countPairs(named, truth);
  return baseReward(named, truth) - perMissed * Math.max(0, missed - missedFree);
}

/** R_format (Eq. 9), in [-1, 0]. */
export const formatReward = (invalid: number): number => -invalid / FORMAT_CHECKS + 0;

/** s(L) (Eq. 10), in [-1, 0]. */
export function lengthScore(tokens: number): number {
  const { fewTokens, manyTokens } = REWARD_SETTINGS;
  return -Math.min(1, Math.max(0, (tokens - fewTokens) / (manyTokens - fewTokens))) + 0;
}

/** R_length (Eq. 11): as printed, wrong answers may be as long as they like. */
export const lengthReward = (result: number, tokens: number): number =>
  result >= REWARD_SETTINGS.correctFrom ? lengthScore(tokens) : 0;

/** R_KL (Eq. 12): needs the model's own probabilities, so that it is 0 where answers are only scored. @param divergence nats */
export const klReward = (divergence: number): number => -REWARD_SETTINGS.kappa * divergence + 0;

export interface Reward {
  readonly result: number;
  readonly format: number;
  readonly length: number;
  readonly total: number;
}

/** R_total (Eq. 13). @param answer without `divergence` it is scored, not trained: Eq. 12 is 0 then */
export function rewardOf(answer: {
  readonly named: readonly Root[];
  readonly truth: readonly Root[];
  readonly invalid: number;
  readonly tokens: number;
  readonly divergence?: number;
}): Reward {
  const result = resultReward(answer.named, answer.truth);
  const format = formatReward(answer.invalid);
  const length = lengthReward(result, answer.tokens);
  return { result, format, length, total: result + format + length + klReward(answer.divergence ?? 0) };
}
