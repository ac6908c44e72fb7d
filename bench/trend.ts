import { median, pairSlopes, scoreDeviation } from "@tradewind/core/values/statistics.ts";

/** A value at a time. */
export interface Sample {
  readonly atSeconds: number;
  readonly value: number;
}

/** How a value moves over a run. */
export interface Trend {
  readonly first: number;
  readonly last: number;
  readonly most: number;
  /** Of the lowest value per slice, by Theil and Sen; NaN with fewer than three slices. */
  readonly slopePerHour: number;
  /** Half of the interval that holds the slope with 68 %. */
  readonly standardError: number;
}

/** Slices that the time is cut into; of each only the lowest value counts, so that what is given back does not. */
const SLICES = 24;
/** A share of the time in which caches fill. */
const WARM_UP_SHARE = 1 / 3;

/** The trend of a floor. @param samples by rising time; the first third counts for `first` and `most` only */
export function trendOf(samples: readonly Sample[]): Trend {
  const first = samples[0];
  const last = samples.at(-1);
  if (first === undefined || last === undefined) {
    return {
      first: Number.NaN,
      last: Number.NaN,
      most: Number.NaN,
      slopePerHour: Number.NaN,
      standardError: Number.NaN,
    };
  }
  const { slope, standardError } = theilSen(floors(samples));
  return {
    first: first.value,
    last: last.value,
    most: samples.reduce((most, { value }) => Math.max(most, value), first.value),
    slopePerHour: 3_600 * slope,
    standardError: 3_600 * standardError,
  };
}

/** The lowest sample of each of 24 slices of the time after the warm-up. */
export function floors(samples: readonly Sample[]): Sample[] {
  const fromSeconds = samples[0]?.atSeconds ?? 0;
  const toSeconds = samples.at(-1)?.atSeconds ?? 0;
  const startSeconds = fromSeconds + WARM_UP_SHARE * (toSeconds - fromSeconds);
  const sliceSeconds = (toSeconds - startSeconds) / SLICES;
  const lowest = new Map<number, Sample>();
  for (const sample of samples) {
    if (sample.atSeconds < startSeconds) continue;
    const slice = Math.min(SLICES - 1, Math.floor((sample.atSeconds - startSeconds) / sliceSeconds));
    const known = lowest.get(slice);
    if (known === undefined || sample.value < known.value) lowest.set(slice, sample);
  }
  return [...lowest.values()];
}

/** The slope by Theil and Sen, which a third of wild points does not move, and the half width of its interval of 68 % (Sen 1968, equation 2.6). */
export function theilSen(points: readonly Sample[]): { slope: number; standardError: number } {
  if (points.length < 3) return { slope: Number.NaN, standardError: Number.NaN };
  const slopes = pairSlopes(
    points.map(({ atSeconds }) => atSeconds),
    points.map(({ value }) => value),
  );
  const middle = (slopes.length - 1) / 2;
  const aside = scoreDeviation(points.length) / 2;
  const nearest = (place: number): number =>
    slopes[Math.max(0, Math.min(slopes.length - 1, Math.round(place)))] ?? Number.NaN;
  return { slope: median(slopes), standardError: (nearest(middle + aside) - nearest(middle - aside)) / 2 };
}
