/** Puts the `place`-th smallest of `values[from..to]` at `place`, smaller ones before it (Hoare's selection). */
function select(values: Float64Array, place: number, from: number, to: number): void {
  let low = from;
  let high = to;
  while (low < high) {
    const pivot = values[(low + high) >> 1] ?? 0;
    let i = low;
    let j = high;
    while (i <= j) {
      while ((values[i] ?? 0) < pivot) i += 1;
      while ((values[j] ?? 0) > pivot) j -= 1;
      if (i > j) break;
      const kept = values[i] ?? 0;
      values[i] = values[j] ?? 0;
      values[j] = kept;
      i += 1;
      j -= 1;
    }
    if (place <= j) high = j;
    else if (place >= i) low = i;
    else return;
  }
}

/** Mean of the values whose rank lies between two shares of all. Reorders `values`. */
export function bandMean(values: Float64Array, fromShare: number, toShare: number): number {
  const first = Math.floor(fromShare * values.length);
  const last = Math.max(first, Math.ceil(toShare * values.length) - 1);
  select(values, first, 0, values.length - 1);
  select(values, last, first, values.length - 1);
  let sum = 0;
  for (let i = first; i <= last; i += 1) sum += values[i] ?? 0;
  return sum / (last - first + 1);
}

/** The quantiles asked for, ascending; reorders `values`. */
export function quantiles(values: Float64Array, shares: readonly number[]): number[] {
  values.sort();
  return shares.map((share) => values[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0);
}
