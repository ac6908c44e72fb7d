interface Ranked<Item> {
  readonly item: Item;
  readonly index: number;
  /** Items of its group before it. */
  readonly rank: number;
}

function* ranked<Item>(
  items: readonly Item[],
  groupOf: (item: Item) => string,
): Generator<Ranked<Item>, void, void> {
  const counts = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    const group = groupOf(item);
    const rank = counts.get(group) ?? 0;
    counts.set(group, rank + 1);
    yield { item, index, rank };
  }
}

/**
 * At most `most` of these, in their order. A group loses nothing while another one has more: 3 places for `a a a a b` go to `a a b`.
 */
export function fairlyCut<Item>(
  items: readonly Item[],
  groupOf: (item: Item) => string,
  most: number,
): readonly Item[] {
  if (items.length <= most) return items;
  return [...ranked(items, groupOf)]
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .slice(0, most)
    .sort((a, b) => a.index - b.index)
    .map(({ item }) => item);
}

/** The first of each group, the one with the least work first, then the second of each: no group waits for all of another one's. */
export function inFairOrder<Item>(
  items: readonly Item[],
  groupOf: (item: Item) => string,
  workOf: (item: Item) => number,
): readonly Item[] {
  const byWork = items.toSorted((a, b) => workOf(a) - workOf(b));
  return [...ranked(byWork, groupOf)]
    .sort((a, b) => a.rank - b.rank || a.index - b.index)
    .map(({ item }) => item);
}
