export { median } from "@tradewind/core/values/statistics.ts";

/**
 * Standard error of the p95 of `n` exponentially distributed times over the p95 itself: √(p(1 − p)/n) over density times
 * quantile, √(19/n) / ln 20 (Mosteller, On some useful "inefficient" statistics, 1946).
 */
export function chanceOfTail(n: number): number {
  return Math.sqrt(19 / Math.max(1, n)) / Math.log(20);
}
