import { z } from "zod";
import type { Buckets } from "./bucket.ts";

const INFINITE: Readonly<Record<string, number>> = {
  "+Inf": Number.POSITIVE_INFINITY,
  "-Inf": Number.NEGATIVE_INFINITY,
};

const NumberText = z
  .string()
  .transform((text) => INFINITE[text] ?? Number(text))
  .refine((value) => !Number.isNaN(value));

/**
 * A native histogram in a query result (Prometheus HTTP API, "Native histograms"):
 * `{"count":"12","sum":"3.4","buckets":[[0,"0.5","0.7","3"],…]}`; each bucket is boundary rule (0 open left, 1 open
 * right, 2 open both, 3 closed both), lower and upper bound, count. Empty buckets are absent. Of custom buckets the first
 * reaches down to -Inf, the last up to +Inf.
 */
const NativeHistogramText = z.object({
  count: NumberText,
  sum: NumberText,
  buckets: z
    .array(z.tuple([z.number(), NumberText, NumberText, NumberText]))
    .max(1_000)
    .nullish(),
});

export interface NativeHistogram {
  readonly count: number;
  /** In the histogram's own unit. */
  readonly sum: number;
  readonly buckets: Buckets;
}

/** Neighbours share a bound, which each may have rounded for itself. */
const OVERLAP_TOLERANCE = 1e-9;

/** Reads a native histogram; undefined when it is none, or holds impossible numbers. */
export function readNativeHistogram(value: unknown, unitSeconds: number): NativeHistogram | undefined {
  const parsed = NativeHistogramText.safeParse(value);
  if (!parsed.success) return undefined;
  const { count, sum } = parsed.data;
  const buckets = [...(parsed.data.buckets ?? [])].sort((a, b) => a[1] - b[1]);
  const sane = buckets.every(([, lower, upper, held]) => held >= 0 && Number.isFinite(held) && lower < upper);
  const apart = buckets.every(([, lower], index) => {
    const before = buckets[index - 1]?.[2] ?? Number.NEGATIVE_INFINITY;
    return lower >= before - OVERLAP_TOLERANCE * Math.abs(before) || index === 0;
  });
  if (!sane || !apart || !Number.isFinite(count) || count < 0 || !Number.isFinite(sum)) return undefined;
  const areCustom = buckets.some(
    ([, lower, upper]) => lower === Number.NEGATIVE_INFINITY || upper === Number.POSITIVE_INFINITY,
  );
  return {
    count,
    sum,
    buckets: {
      lowers: buckets.map(([, lower]) => Math.max(0, lower) * unitSeconds),
      uppers: buckets.map(([, , upper]) => Math.max(0, upper) * unitSeconds),
      counts: buckets.map(([, , , held]) => held),
      within: areCustom ? "linear" : "exponential",
    },
  };
}
