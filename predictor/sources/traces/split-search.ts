import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { Interval } from "../../window/interval.ts";

/** A stretch of time to search, ms since the epoch. */
export interface Slice {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface SplitLimits {
  /** Results at which an answer counts as cut off. */
  readonly limit: number;
  /** Slices are not split below this. */
  readonly minSliceMs: number;
  readonly maxRequests: number;
}

/**
 * Searches that give at most `limit` results and no way to page: where an answer is full, the slice is searched again
 * in halves. Results may repeat.
 * @returns all results, and whether some slice was still full when it could not be split any more
 */
export async function searchBySplitting<Result>(
  whole: Slice,
  limits: SplitLimits,
  search: (slice: Slice) => Promise<readonly Result[]>,
): Promise<{ results: Result[]; truncated: boolean }> {
  const open: Slice[] = [whole];
  const results: Result[] = [];
  let truncated = false;
  for (let requests = 0; open.length > 0; requests += 1) {
    const slice = open.pop() ?? whole;
    if (requests >= limits.maxRequests) return { results, truncated: true };
    const found = await search(slice);
    const half = (slice.toMs - slice.fromMs) / 2;
    if (found.length < limits.limit || half < limits.minSliceMs) {
      truncated ||= found.length >= limits.limit;
      for (const each of found) results.push(each);
    } else {
      const middle = Math.round((slice.fromMs + half) / limits.minSliceMs) * limits.minSliceMs;
      open.push({ fromMs: middle, toMs: slice.toMs }, { fromMs: slice.fromMs, toMs: middle });
    }
  }
  return { results, truncated };
}

/** Rates formed of a part of the traces would be too low by an unknown factor: better none. */
export function tooMany(source: string, { startMs, endMs }: Interval): EndpointError {
  return new EndpointError(
    "too-large",
    `${source}: more traces in ${(endMs - startMs) / 1_000} s than may be fetched`,
    "raise limit and maxRequests, sample traces at their source, or read span metrics from Prometheus instead",
  );
}
