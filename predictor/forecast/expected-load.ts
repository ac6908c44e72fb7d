/** Mean load of equal steps, oldest first; null where it is not known. */
export type Steps = readonly (number | null)[];

/** Weight of a season over that of the season after it, and most seasons that count. */
const SEASON_SHARE = 0.5;
const MOST_SEASONS = 4;
/** Steps that the present level is the mean of. */
const LEVEL_STEPS = 4;
/** What is left of the level's distance from the season after another step. */
const LEVEL_SHARE = 0.9;

/**
 * Load of a step by the same step of the seasons before, of which the newest weighs most; NaN where none is known.
 * @param at may lie up to a season after the last step
 */
export function expectedAt(steps: Steps, at: number, season: number): number {
  let [sum, weights, weight] = [0, 0, 1];
  for (let back = at - season; back >= 0 && back >= at - MOST_SEASONS * season; back -= season) {
    const value = steps[back];
    if (value !== null && value !== undefined) {
      sum += weight * value;
      weights += weight;
    }
    weight *= SEASON_SHARE;
  }
  return weights > 0 ? sum / weights : Number.NaN;
}

/** Highest of what the season says of a step, and of the one before and after it; NaN where nothing is known. */
export function expectedNear(steps: Steps, at: number, season: number): number {
  let peak = Number.NaN;
  for (const near of [at - 1, at, at + 1]) {
    const each = expectedAt(steps, near, season);
    if (!(peak >= each) && !Number.isNaN(each)) peak = each;
  }
  return peak;
}

/** Mean distance of the last steps up to one from what the season says of them; 0 where nothing is known of them. */
export function levelAt(steps: Steps, origin: number, season: number): number {
  let [sum, count] = [0, 0];
  for (let at = Math.max(0, origin - LEVEL_STEPS + 1); at <= origin; at += 1) {
    const value = steps[at];
    const expected = expectedAt(steps, at, season);
    if (value === null || value === undefined || Number.isNaN(expected)) continue;
    sum += value - expected;
    count += 1;
  }
  return count > 0 ? sum / count : 0;
}

/** `season` repeats the seasons before; `level` adds how far the load lies off them now, which is forgotten step by step. */
export const SEASONAL_METHODS = ["season", "level"] as const;
export type SeasonalMethod = (typeof SEASONAL_METHODS)[number];

/**
 * Highest load of the steps after an origin by the seasons before, from one step before to one step after: a season may come a
 * step early or late. NaN where nothing is known.
 */
export function expectedPeak(
  steps: Steps,
  {
    ahead,
    method,
    origin,
    season,
  }: { method: SeasonalMethod; origin: number; season: number; ahead: number },
): number {
  let level = method === "level" ? levelAt(steps, origin, season) : 0;
  let peak = Number.NaN;
  for (let at = origin; at <= origin + ahead + 1; at += 1) {
    const each = expectedAt(steps, at, season) + level;
    if (!(peak >= each) && !Number.isNaN(each)) peak = each;
    level *= LEVEL_SHARE;
  }
  return peak;
}

/** Highest of the known steps of a range, both ends included; NaN where none is. */
export function highestOf(steps: Steps, from: number, to: number): number {
  let peak = Number.NaN;
  for (let at = Math.max(0, from); at <= to; at += 1) {
    const value = steps[at];
    if (value !== null && value !== undefined && !(peak >= value)) peak = value;
  }
  return peak;
}
