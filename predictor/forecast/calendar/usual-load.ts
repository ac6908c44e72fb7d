import { median } from "@tradewind/core/values/statistics.ts";
import type { LoadSeries } from "../load-series.ts";

const DAY_MS = 86_400_000;

/**
 * Usual load of a time of day, and of the step after it if that is higher: the median of the days before, requests per second. Undefined
 * while no day is known.
 */
export function usualPerSecond({ endMs, stepMs, values }: LoadSeries, atMs: number): number | undefined {
  const beganMs = endMs - stepMs * values.length;
  const usualAt = (timeMs: number): number | undefined => {
    const known: number[] = [];
    for (let daysAgo = 1; timeMs - daysAgo * DAY_MS >= beganMs; daysAgo += 1) {
      const value = values[Math.floor((timeMs - daysAgo * DAY_MS - beganMs) / stepMs)];
      if (value !== undefined && value !== null) known.push(value);
    }
    return known.length === 0 ? undefined : median(known);
  };
  const usual = [atMs, atMs + stepMs].flatMap((timeMs) => usualAt(timeMs) ?? []);
  return usual.length === 0 ? undefined : Math.max(...usual);
}
