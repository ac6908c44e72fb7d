import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { weightedMean } from "./weighted-mean.ts";

/**
 * One summary for several, weighted by their number of calls; undefined for none. The mean of percentiles lies between the
 * smallest and the largest, it is not the percentile of all calls.
 */
export function mergeLatency(summaries: readonly (LatencySummary | undefined)[]): LatencySummary | undefined {
  const known = summaries.filter((summary) => summary !== undefined);
  if (known.length === 0) return undefined;
  const count = known.reduce((sum, summary) => sum + summary.count, 0);
  const at = (key: "meanSeconds" | "p50Seconds" | "p95Seconds" | "p99Seconds"): number =>
    weightedMean(
      known,
      (summary) => summary[key],
      (summary) => summary.count,
    ) ?? 0;
  return {
    count,
    meanSeconds: at("meanSeconds"),
    p50Seconds: at("p50Seconds"),
    p95Seconds: at("p95Seconds"),
    p99Seconds: at("p99Seconds"),
  };
}
