/** One service's claim on a pool of pods. */
export interface Claim {
  readonly name: string;
  /** Not negative; only ratios matter. */
  readonly weight: number;
  readonly min: number;
  /** Not below `min`. */
  readonly max: number;
}

interface Quota extends Claim {
  /** Real-valued share within [min, max]. */
  readonly quota: number;
}

/**
 * Shares `total` pods in proportion to the weights: `max Σ w_n·log x_n` with `Σ x_n = total` and `min ≤ x_n ≤ max`, which
 * without active bounds is QueueFlower's `x_n = ⌊w_n/Σw·total⌋` (its Algorithm 1, line 5). Left-over pods go to the
 * largest remainders, ties to the smaller name, so equal input gives equal output. With all weights 0 the shares are equal.
 * When the bounds cannot hold `total`, every claim gets its min (too little) or its max (too much).
 * @param total pods to share, a whole number
 * @returns pods by name
 */
export function shareProportionally(claims: readonly Claim[], total: number): ReadonlyMap<string, number> {
  const ordered = [...claims].sort(byName);
  const least = ordered.reduce((pods, { min }) => pods + min, 0);
  const most = ordered.reduce((pods, { max }) => pods + max, 0);
  if (total <= least) return new Map(ordered.map(({ name, min }) => [name, min]));
  if (total >= most) return new Map(ordered.map(({ name, max }) => [name, max]));
  return roundByLargestRemainder(quotas(ordered, total), total);
}

/**
 * Water filling: shares what is left over the claims that no bound holds, and fixes the violated bounds of the side that
 * is violated more, until none is. Each round fixes at least one claim.
 */
function quotas(claims: readonly Claim[], total: number): readonly Quota[] {
  const quotaByName = new Map<string, number>();
  for (;;) {
    const free = claims.filter(({ name }) => !quotaByName.has(name));
    const left = total - [...quotaByName.values()].reduce((pods, quota) => pods + quota, 0);
    const shares = proportionalQuotas(free, left);
    let excess = 0;
    for (const { quota, min, max } of shares) excess += Math.min(Math.max(quota, min), max) - quota;
    const violated = shares.filter(
      ({ quota, min, max }) => (excess >= 0 && quota < min) || (excess <= 0 && quota > max),
    );
    if (violated.length === 0) {
      const quotaOf = new Map([...quotaByName, ...shares.map(({ name, quota }) => [name, quota] as const)]);
      return claims.map((claim) => ({ ...claim, quota: quotaOf.get(claim.name) ?? claim.min }));
    }
    for (const { name, quota, min, max } of violated) quotaByName.set(name, quota < min ? min : max);
  }
}

function proportionalQuotas(claims: readonly Claim[], total: number): readonly Quota[] {
  const weightSum = claims.reduce((sum, { weight }) => sum + weight, 0);
  return claims.map((claim) => ({
    ...claim,
    quota: weightSum > 0 ? (claim.weight / weightSum) * total : total / claims.length,
  }));
}

/** Rounding errors of the division must not turn 3 into ⌊2.9999999999999996⌋ = 2. */
const ROUNDING_SLACK = 1e-9;

function roundByLargestRemainder(claims: readonly Quota[], total: number): ReadonlyMap<string, number> {
  const floors = claims.map((claim) => {
    const pods = Math.floor(claim.quota + ROUNDING_SLACK);
    return { ...claim, pods, remainder: Math.max(0, claim.quota - pods) };
  });
  let leftPods = total - floors.reduce((pods, claim) => pods + claim.pods, 0);
  const pods = new Map(floors.map((claim) => [claim.name, claim.pods]));
  const byRemainder = [...floors].sort((a, b) => b.remainder - a.remainder || byName(a, b));
  while (leftPods > 0) {
    const leftBefore = leftPods;
    for (const { name, max } of byRemainder) {
      const now = pods.get(name) ?? 0;
      if (leftPods === 0) break;
      if (now >= max) continue;
      pods.set(name, now + 1);
      leftPods -= 1;
    }
    if (leftPods === leftBefore) break;
  }
  return pods;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
