import type { Ranking, Suspect } from "./rank.ts";

/** A root cause has at least this share of the score of the first, and of what users notice; there are no more than so many. */
const OF_FIRST = 0.5;
const LEAST_SHARE = 0.15;
const MOST_ROOTS = 3;
/** Signals that must speak for a cause where it is not sure that users are harmed at all. */
const TWO_SIGNS = 2;

/**
 * The services that are named as causes; none where users notice nothing, or where nobody can be told from the others. Where users are
 * not seen to notice anything, those whose resources are far from usual.
 */
export function rootsOf({
  alarm,
  clear,
  suspects,
}: Pick<Ranking, "alarm" | "clear" | "suspects">): readonly Suspect[] {
  const [first] = suspects;
  if (alarm === "none" || first === undefined) return [];
  if (alarm === "resource")
    return suspects
      .filter(({ score, service }) => clear.has(service) && score >= OF_FIRST * first.score)
      .slice(0, MOST_ROOTS);
  return suspects
    .filter(({ score, share }) => share >= LEAST_SHARE && score >= OF_FIRST * first.score)
    .filter(({ evidence }) => alarm === "strong" || evidence.length >= TWO_SIGNS)
    .slice(0, MOST_ROOTS);
}
