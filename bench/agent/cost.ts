/** Buckets of a histogram in an exposition: upper bound and cumulative count. */
export function buckets(exposition: string, name: string): [number, number][] {
  const found: [number, number][] = [];
  for (const line of exposition.split("\n")) {
    const match = /^(\w+)_bucket\{le="([^"]+)"\} (\S+)$/.exec(line);
    if (match?.[1] !== name) continue;
    found.push([match[2] === "+Inf" ? Infinity : Number(match[2]), Number(match[3])]);
  }
  return found;
}

/** The quantile of what happened between two scrapes of a histogram, interpolated within its bucket; seconds. */
export function quantileBetween(
  before: readonly [number, number][],
  after: readonly [number, number][],
  quantile: number,
): number {
  const counts = after.map(([bound, count], index) => [bound, count - (before[index]?.[1] ?? 0)] as const);
  const all = counts.at(-1)?.[1] ?? 0;
  const rank = quantile * all;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of counts) {
    if (count >= rank && count > below) {
      if (!Number.isFinite(bound)) return lower;
      return lower + ((bound - lower) * (rank - below)) / (count - below);
    }
    lower = bound;
    below = count;
  }
  return lower;
}
