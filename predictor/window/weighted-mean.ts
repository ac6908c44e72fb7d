/**
 * Mean over the items that have a value; plain when no weight is positive; undefined without values. Never
 * outside of them, however it is rounded.
 */
export function weightedMean<Item>(
  items: readonly Item[],
  value: (item: Item) => number | undefined,
  weight: (item: Item) => number,
): number | undefined {
  let sum = 0;
  let weights = 0;
  let plain = 0;
  let count = 0;
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const item of items) {
    const known = value(item);
    if (known === undefined) continue;
    sum += known * weight(item);
    weights += weight(item);
    plain += known;
    count += 1;
    least = Math.min(least, known);
    most = Math.max(most, known);
  }
  if (count === 0) return undefined;
  const result = weights > 0 ? sum / weights : plain / count;
  return Math.min(most, Math.max(least, result));
}
