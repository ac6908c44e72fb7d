import type { LatencySummary } from "@tradewind/core/contract/window.ts";

/**
 * One summary for several, weighted by their number of calls; undefined for none. The mean of percentiles lies between the
 * smallest and the largest, it is not the percentile of all calls.
 */
export function mergeLatency(summaries: readonly (LatencySummary | undefined)[]): LatencySummary | undefined {
  const known = summaries.filter((summary) => summary !== undefined);
  if (known.length === 0) return undefined;
  const count = known.reduce((sum, summary) => sum + summary.count, 0);
  const at = (key: "meanSeconds" | "p50Seconds" | "p95Seconds" | "p99Seconds"): number => {
    const values = known.map((summary) => summary[key]);
    const mean = known.reduce((sum, summary) => sum + summary.count * summary[key], 0) / count;
    return Math.min(Math.max(mean, Math.min(...values)), Math.max(...values));
  };
  return {
    count,
    meanSeconds: at("meanSeconds"),
    p50Seconds: at("p50Seconds"),
    p95Seconds: at("p95Seconds"),
    p99Seconds: at("p99Seconds"),
  };
}
