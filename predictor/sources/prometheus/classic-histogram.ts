import type { Buckets } from "./bucket.ts";

/** Cumulative bucket counts (or rates) of one or more histograms with the same bounds; the last bound is Infinity. */
export interface CumulativeBuckets {
  readonly bounds: readonly number[];
  readonly cumulative: readonly number[];
  /** Sum of the observations, in the unit of the bounds. */
  readonly sum: number;
}

/** Prometheus writes `le` as `0.1`, `1`, `1e+06`, `+Inf`; undefined when it is no number. */
export function parseBound(le: string | undefined): number | undefined {
  if (le === "+Inf" || le === "Inf") return Number.POSITIVE_INFINITY;
  if (le === undefined || le.trim() === "") return undefined;
  const bound = Number(le);
  return Number.isFinite(bound) ? bound : undefined;
}

/** Counts may fall from one bound to the next by this share of the total: rounding, and scrapes of different times. */
const MONOTONE_TOLERANCE = 0.005;

/**
 * One histogram from its `le` series and its sum. Undefined when it cannot be trusted: no +Inf bucket, an unknown
 * value, a negative one, or counts that fall with rising bounds by more than rounding.
 */
export function cumulativeBuckets(
  points: ReadonlyMap<number, number>,
  sum: number,
): CumulativeBuckets | undefined {
  const bounds = [...points.keys()].sort((a, b) => a - b);
  if (!(sum >= 0) || bounds.length < 2 || bounds.at(-1) !== Number.POSITIVE_INFINITY) return undefined;
  const total = points.get(Number.POSITIVE_INFINITY) ?? Number.NaN;
  const cumulative: number[] = [];
  let highest = 0;
  for (const bound of bounds) {
    const value = points.get(bound) ?? Number.NaN;
    if (!Number.isFinite(value) || value < 0 || value < highest - MONOTONE_TOLERANCE * total)
      return undefined;
    highest = Math.max(highest, value);
    cumulative.push(highest);
  }
  return { bounds, cumulative, sum };
}

export interface MergedBuckets {
  readonly merged: CumulativeBuckets | undefined;
  /** Histograms that could not be added because their bounds do not hold the others'. */
  readonly leftOut: number;
}

/**
 * Adds histograms up. Where bounds differ (a release changed them), the most common bounds are taken and finer ones
 * are reduced to them, which is exact; a histogram that lacks one of them is left out.
 */
export function mergeBuckets(histograms: readonly CumulativeBuckets[]): MergedBuckets {
  const layouts = new Map<string, { bounds: readonly number[]; votes: number }>();
  for (const { bounds } of histograms) {
    const key = bounds.join();
    const layout = layouts.get(key);
    layouts.set(key, { bounds, votes: (layout?.votes ?? 0) + 1 });
  }
  const winner = [...layouts.values()].sort(
    (a, b) => b.votes - a.votes || b.bounds.length - a.bounds.length,
  )[0];
  if (winner === undefined) return { merged: undefined, leftOut: 0 };
  const cumulative = winner.bounds.map(() => 0);
  let leftOut = 0;
  let sum = 0;
  for (const histogram of histograms) {
    const at = winner.bounds.map((bound) => histogram.bounds.indexOf(bound));
    if (at.includes(-1)) {
      leftOut += 1;
      continue;
    }
    sum += histogram.sum;
    at.forEach((from, to) => {
      cumulative[to] = (cumulative[to] ?? 0) + (histogram.cumulative[from] ?? 0);
    });
  }
  return { merged: { bounds: winner.bounds, cumulative, sum }, leftOut };
}

/** Plain buckets; `unitSeconds` is what one unit of the bounds is worth (0.001 for milliseconds). */
export function plainBuckets({ bounds, cumulative }: CumulativeBuckets, unitSeconds: number): Buckets {
  return {
    lowers: bounds.map(
      (bound, index) => (index === 0 ? Math.min(0, bound) : (bounds[index - 1] ?? 0)) * unitSeconds,
    ),
    uppers: bounds.map((bound) => bound * unitSeconds),
    counts: cumulative.map((value, index) =>
      Math.max(0, value - (index === 0 ? 0 : (cumulative[index - 1] ?? 0))),
    ),
    within: "linear",
  };
}
