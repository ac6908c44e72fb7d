import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { summarise, totalCount } from "../../prometheus/bucket.ts";
import type { Buckets } from "../../prometheus/bucket.ts";
import { mergeBuckets, plainBuckets } from "../../prometheus/classic-histogram.ts";
import type { CumulativeBuckets } from "../../prometheus/classic-histogram.ts";

/** Buckets with bounds of their own, in seconds: `counts[i]` of (bounds[i − 1], bounds[i]], the last beyond all bounds. */
interface ExplicitBuckets {
  readonly kind: "explicit";
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
}

/** `counts[i]` of (b^index, b^(index + 1)] with index = offset + i and b = 2^(2^−scale) (OpenTelemetry metrics data model). */
interface ExponentialBuckets {
  readonly kind: "exponential";
  readonly scale: number;
  /** What one unit of the bounds is worth: 0.001 for milliseconds. */
  readonly unitSeconds: number;
  /** Of what is as good as nothing. */
  readonly zeroCount: number;
  readonly offset: number;
  readonly counts: readonly number[];
}

/** Durations as a histogram holds them. */
export interface Distribution {
  readonly count: number;
  /** Seconds of all of them. */
  readonly sum: number;
  readonly buckets: ExplicitBuckets | ExponentialBuckets;
}

/** A sum of fractions may fall by so much. s */
const ROUNDING_SECONDS = 1e-9;

/** What came since `earlier` of the same histogram; undefined where it is none that goes on. */
export function growth(later: Distribution, earlier: Distribution): Distribution | undefined {
  const [count, sum] = [later.count - earlier.count, later.sum - earlier.sum];
  const buckets = combined(later.buckets, earlier.buckets, -1);
  if (buckets === undefined || count < 0 || sum < -ROUNDING_SECONDS) return undefined;
  if (buckets.counts.some((each) => each < 0) || !goesOn(buckets, later.buckets)) return undefined;
  return { count, sum: Math.max(0, sum), buckets };
}

/** Buckets of a histogram grow wider, never narrower. */
function goesOn(grown: Distribution["buckets"], later: Distribution["buckets"]): boolean {
  if (grown.kind === "explicit" || later.kind === "explicit") return true;
  return grown.scale === later.scale && grown.zeroCount >= 0;
}

/** Both as one; undefined where their bounds do not meet. @param share of the second that counts */
export function together(first: Distribution, second: Distribution, share = 1): Distribution | undefined {
  const buckets = combined(first.buckets, second.buckets, share);
  return (
    buckets && { count: first.count + share * second.count, sum: first.sum + share * second.sum, buckets }
  );
}

function combined(
  first: Distribution["buckets"],
  second: Distribution["buckets"],
  factor: number,
): Distribution["buckets"] | undefined {
  if (first.kind === "explicit") {
    if (second.kind !== "explicit" || !isSameLayout(first, second)) return undefined;
    return {
      ...first,
      counts: first.counts.map((count, index) => count + factor * (second.counts[index] ?? 0)),
    };
  }
  if (second.kind !== "exponential" || first.unitSeconds !== second.unitSeconds) return undefined;
  const hasSamePlace = first.offset === second.offset && first.counts.length === second.counts.length;
  if (hasSamePlace && first.scale === second.scale) {
    const counts = first.counts.map((count, place) => count + factor * (second.counts[place] ?? 0));
    return { ...first, counts, zeroCount: first.zeroCount + factor * second.zeroCount };
  }
  const scale = Math.min(first.scale, second.scale);
  const [a, b] = [atScale(first, scale), atScale(second, scale)];
  const offset = Math.min(a.offset, b.offset);
  const end = Math.max(a.offset + a.counts.length, b.offset + b.counts.length);
  if (end - offset > MOST_COMBINED) return undefined;
  const counts = Array.from<number>({ length: end - offset }).fill(0);
  a.counts.forEach((count, place) => (counts[a.offset - offset + place] = count));
  b.counts.forEach((count, place) => {
    const index = b.offset - offset + place;
    counts[index] = (counts[index] ?? 0) + factor * count;
  });
  return { ...a, offset, counts, zeroCount: a.zeroCount + factor * b.zeroCount };
}

/** Two that lie further apart are no latencies of one service: from a nanosecond to a year there are 1,700 buckets at scale 5. */
const MOST_COMBINED = 4_096;

const isSameLayout = ({ bounds }: ExplicitBuckets, other: ExplicitBuckets): boolean =>
  bounds.length === other.bounds.length && bounds.every((bound, index) => bound === other.bounds[index]);

/** The same in wider buckets, which is exact. @param scale no greater than its own */
function atScale(buckets: ExponentialBuckets, scale: number): ExponentialBuckets {
  const width = 2 ** (buckets.scale - scale);
  if (width === 1 || buckets.counts.length === 0) return { ...buckets, scale };
  const offset = Math.floor(buckets.offset / width);
  const last = Math.floor((buckets.offset + buckets.counts.length - 1) / width);
  const counts = Array.from({ length: last - offset + 1 }, () => 0);
  for (const [place, count] of buckets.counts.entries()) {
    const wider = Math.floor((buckets.offset + place) / width) - offset;
    counts[wider] = (counts[wider] ?? 0) + count;
  }
  return { ...buckets, scale, offset, counts };
}

/** Distributions that are added up, each for a part of what it holds. */
export class DistributionSum {
  count = 0;
  sum = 0;
  /** One for all whose bounds meet. */
  private readonly parts: Distribution[] = [];

  /** @param share of what it holds that counts */
  add(distribution: Distribution, share: number): void {
    this.count += distribution.count * share;
    this.sum += distribution.sum * share;
    for (const [index, part] of this.parts.entries()) {
      const both = together(part, distribution, share);
      if (both === undefined) continue;
      this.parts[index] = both;
      return;
    }
    const { buckets } = distribution;
    const none = { ...buckets, zeroCount: 0, counts: buckets.counts.map(() => 0) };
    const part = together({ count: 0, sum: 0, buckets: none }, distribution, share);
    if (part !== undefined) this.parts.push(part);
  }

  /**
   * Latency of the calls that were added, which are those of a second. Histograms with bounds of their own are brought to common
   * bounds; where some are exponential, it is that of the kind that counts most.
   */
  latency(windowSeconds: number): LatencySummary | undefined {
    const { merged } = mergeBuckets(this.parts.flatMap((part) => cumulative(part) ?? []));
    const kinds = this.parts.flatMap(({ buckets, sum }) =>
      buckets.kind === "exponential" ? [{ buckets: plainExponential(buckets), sum }] : [],
    );
    if (merged !== undefined) kinds.push({ buckets: plainBuckets(merged, 1), sum: merged.sum });
    const counts = kinds.map(({ buckets }) => totalCount(buckets));
    const most = Math.max(0, ...counts);
    const kind = kinds[counts.indexOf(most)];
    return kind && most > 0 ? summarise(kind.buckets, kind.sum, most, windowSeconds) : undefined;
  }
}

/** Undefined without bounds, which tells of no latency. */
function cumulative({ buckets, sum }: Distribution): CumulativeBuckets | undefined {
  if (buckets.kind !== "explicit" || buckets.bounds.length === 0) return undefined;
  let total = 0;
  const rising = buckets.counts.map((count) => (total += count));
  return { bounds: [...buckets.bounds, Infinity], cumulative: rising, sum };
}

function plainExponential({ counts, offset, scale, unitSeconds, zeroCount }: ExponentialBuckets): Buckets {
  const bound = (index: number): number => unitSeconds * 2 ** (index * 2 ** -scale);
  return {
    lowers: [0, ...counts.map((_, place) => bound(offset + place))],
    uppers: [0, ...counts.map((_, place) => bound(offset + place + 1))],
    counts: [zeroCount, ...counts],
    within: "exponential",
  };
}
