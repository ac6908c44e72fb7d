import type { KeptPoint } from "@tradewind/core/contract/measured.ts";

/** A window stands for the time since the one before, and for no more than this. ms */
const MOST_SPACING_MS = 600_000;
const SPARK_POINTS = 60;
const SPARK_STEP_MS = 60_000;

/** What is left of an error budget. */
export interface BudgetLeft {
  readonly budgetLeftRatio: number;
  readonly budgetSeconds: number;
}

/** Latency over the objective, one number for each minute of the last hour, the highest in it; null where nothing was measured. */
export function sparkOf(points: readonly KeptPoint[], nowMs: number): (number | null)[] {
  const fromMs = nowMs - SPARK_POINTS * SPARK_STEP_MS;
  const spark = Array.from({ length: SPARK_POINTS }, (): number | null => null);
  for (const { atMs, latencySeconds, objectiveSeconds } of points) {
    if (atMs <= fromMs || latencySeconds === undefined || objectiveSeconds === undefined) continue;
    const minute = Math.min(SPARK_POINTS - 1, Math.floor((atMs - fromMs) / SPARK_STEP_MS));
    spark[minute] = Math.max(spark[minute] ?? 0, latencySeconds / objectiveSeconds);
  }
  return spark;
}

/** Windows that say how it stands now, three minutes of them: the first calm ones of a surge that goes on are chance. */
const LATELY_POINTS = 12;

/** Share of the requests over the objective in the newest windows; undefined without requests. */
export function overLately(points: readonly KeptPoint[]): number | undefined {
  let [requests, over] = [0, 0];
  for (const { overRatio = 0, requestsPerSecond = 0 } of points.slice(-LATELY_POINTS)) {
    requests += requestsPerSecond;
    over += requestsPerSecond * overRatio;
  }
  return requests === 0 ? undefined : over / requests;
}

/** Undefined without requests. @param percentile of the objective @param periodMs over which requests are counted */
export function budgetLeftOf(
  points: readonly KeptPoint[],
  { nowMs, percentile, periodMs }: { nowMs: number; percentile: number; periodMs: number },
): BudgetLeft | undefined {
  let [requests, overRequests, seconds, beforeMs] = [0, 0, 0, Number.NaN];
  for (const { atMs, overRatio, requestsPerSecond } of points) {
    if (atMs <= nowMs - periodMs) continue;
    const spacing = Math.min(MOST_SPACING_MS, atMs - beforeMs) / 1e3;
    beforeMs = atMs;
    if (overRatio === undefined || requestsPerSecond === undefined || Number.isNaN(spacing)) continue;
    requests += spacing * requestsPerSecond;
    overRequests += spacing * requestsPerSecond * overRatio;
    seconds += spacing;
  }
  if (requests === 0) return undefined;
  return { budgetLeftRatio: 1 - overRequests / requests / (1 - percentile), budgetSeconds: seconds };
}
