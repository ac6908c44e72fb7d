import { mean } from "@tradewind/core/values/statistics.ts";

/** What a confidence is made of. */
export interface ConfidenceParts {
  /** Of past incidents like the present one, [0, 1], most alike first. */
  readonly similarities: readonly number[];
  /** Mean error of the last predictions for the service, relative; undefined where none is known. */
  readonly error: number | undefined;
  /** Means of the load over five minutes each, oldest first. */
  readonly loads: readonly number[];
}

const BY_PRECEDENTS = 0.4;
const BY_ACCURACY = 0.4;
const BY_STEADINESS = 0.2;
const MOST_SIMILAR = 3;
/** An hour. Fewer say nothing of how steady the load is. */
export const LOAD_MEANS = 12;

/** InfraLLM's confidence (section V: pattern match, historical accuracy, metric variance), percent. What is not known counts 0. */
export function proposalConfidence({ error, loads, similarities }: ConfidenceParts): number {
  const alike = similarities.slice(0, MOST_SIMILAR);
  const similarity = mean(alike, 0);
  const accuracy = error === undefined ? 0 : 1 - Math.min(1, Math.abs(error));
  const steadiness = loads.length < LOAD_MEANS ? 0 : 1 / (1 + variation(loads.slice(-LOAD_MEANS)));
  return 100 * (BY_PRECEDENTS * similarity + BY_ACCURACY * accuracy + BY_STEADINESS * steadiness);
}

/** Standard deviation from the straight line through the values, over their mean. */
function variation(values: readonly number[]): number {
  const level = mean(values);
  if (!(level > 0)) return Number.POSITIVE_INFINITY;
  const middle = (values.length - 1) / 2;
  let [along, across] = [0, 0];
  for (const [at, value] of values.entries()) {
    along += (at - middle) ** 2;
    across += (at - middle) * (value - level);
  }
  const slope = across / along;
  const left = values.reduce((sum, value, at) => sum + (value - level - slope * (at - middle)) ** 2, 0);
  return Math.sqrt(left / values.length) / level;
}
