import { mean } from "@tradewind/core/values/statistics.ts";

/** A present of more windows than this hides when it began. */
const MOST_PRESENT = 20;
/** So many windows in a row that met the objective end an incident. */
const OVER = 5;
/** Latency may rise for so many windows before it misses. */
const RISE = 2;

/**
 * Where an incident began: the change point that a cumulative sum of differences from the mean is farthest at (CUSUM), no earlier
 * than two windows before the first miss of the incident. The last window alone where nothing rose, or nothing is missed now.
 * @param severities latency of each window over the objective; NaN where it is not known, which counts as the mean
 * @returns a place in `severities`; 0 of none
 */
export function onsetOf(severities: readonly number[]): number {
  const last = Math.max(0, severities.length - 1);
  if (!((severities[last] ?? 0) > 1)) return last;
  const earliest = Math.max(0, firstMiss(severities) - RISE, severities.length - MOST_PRESENT);
  return Math.max(earliest, changePoint(severities));
}

function firstMiss(severities: readonly number[]): number {
  let first = severities.length - 1;
  for (let at = first; at >= 0 && first - at <= OVER; at -= 1) if ((severities[at] ?? 0) > 1) first = at;
  return first;
}

/** The sum falls while values are below the mean: it is lowest where the higher ones begin. */
function changePoint(values: readonly number[]): number {
  const level = mean(
    values.filter((value) => Number.isFinite(value)),
    0,
  );
  const last = values.length - 1;
  let sum = 0;
  let lowest = 0;
  let onset = last;
  for (const [at, value] of values.entries()) {
    sum += Number.isFinite(value) ? value - level : 0;
    if (sum >= lowest || at >= last) continue;
    lowest = sum;
    onset = at + 1;
  }
  return onset;
}
