/** How exactly the stretch is found: costs themselves are not known better. */
const PRECISION = 0.005;
/** Factor by which the search goes away from where it begins. */
const FARTHER = 1.3;

/** Interval of one signal under the cost budget: see {@link budgetStretch}. */
export function stretchedSeconds(
  wantedSeconds: number,
  stretch: number,
  costPerWeight: number,
  maxSeconds: number,
): number {
  return Math.min(maxSeconds, Math.max(wantedSeconds, stretch * Math.sqrt(costPerWeight * wantedSeconds)));
}

/**
 * The stretch m of T_j = min(max_j, max(wanted_j, m sqrt(c_j wanted_j / w_j))) that brings the planned cost down to the
 * budget, sum c_j / T_j = budget. For diffusing signals wanted_j is proportional to eps_j^2 / v_j, so this is the optimum
 * T_j ~ sqrt(c_j / v_j): the reads given up are those that buy the least accuracy per CPU second.
 * @param plannedCost sum of c_j / T_j (CPU seconds per second) under a given stretch; must not grow with it
 * @param likely where to begin to look, such as the stretch found before: each look at the cost goes over all signals
 * @returns 0 when nothing needs stretching; Infinity when even the longest intervals cost more than the budget
 */
export function budgetStretch(plannedCost: (stretch: number) => number, budget: number, likely = 1): number {
  if (plannedCost(0) <= budget) return 0;
  if (plannedCost(Infinity) > budget) return Infinity;
  let high = likely > 0 && Number.isFinite(likely) ? likely : 1;
  let low = 0;
  while (plannedCost(high) > budget && high < 1e12) {
    low = high;
    high *= FARTHER;
  }
  while (low === 0) {
    const lower = high / FARTHER;
    if (plannedCost(lower) > budget || lower < 1e-12) low = lower;
    else high = lower;
  }
  while (high - low > PRECISION * high) {
    const middle = (low + high) / 2;
    if (plannedCost(middle) > budget) low = middle;
    else high = middle;
  }
  return high;
}
