/** Lengths of what happens in a row: `[false, true, true, false, true]` has rows of 2 and 1. */
export function rowLengths(happens: readonly boolean[]): number[] {
  const lengths: number[] = [];
  for (const [index, now] of happens.entries()) {
    if (!now) continue;
    if (happens[index - 1] === true) lengths[lengths.length - 1] = (lengths.at(-1) ?? 0) + 1;
    else lengths.push(1);
  }
  return lengths;
}

/** Windows within which a change counts as reverted. */
export const REVERTED_WINDOWS = 3;

/** Changes of a size that was noted after each window, and how many of them were undone or more within the next windows. */
export function changesOf(sizes: readonly number[]): {
  readonly changes: number;
  readonly reverted: number;
} {
  let [changes, reverted] = [0, 0];
  for (let window = 1; window < sizes.length; window += 1) {
    const [before, now] = [sizes[window - 1] ?? 0, sizes[window] ?? 0];
    if (now === before) continue;
    changes += 1;
    const later = sizes.slice(window + 1, window + 1 + REVERTED_WINDOWS);
    if (later.some((size) => (now - before) * (size - before) <= 0)) reverted += 1;
  }
  return { changes, reverted };
}
