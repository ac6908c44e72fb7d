import type { Plan } from "./plan.ts";

/** How an application stands to its objective, as a plan or a list of recommendations says it. */
export interface Standing {
  readonly objective?: Plan["objective"] | undefined;
  readonly measuredLatencySeconds?: number | undefined;
  /** Share of the requests that failed, of the route with most, where that are more than may be late. */
  readonly failedRatio?: number | undefined;
}

/**
 * Measured latency over the objective, or failed requests over those that may be late, whichever is more: above 1 the
 * objective is missed. Undefined where nothing was measured.
 */
export function severityOf({ failedRatio, measuredLatencySeconds, objective }: Standing): number | undefined {
  if (objective === undefined || (measuredLatencySeconds ?? failedRatio) === undefined) return undefined;
  const { percentile, seconds } = objective;
  return Math.max((measuredLatencySeconds ?? 0) / seconds, (failedRatio ?? 0) / (1 - percentile));
}
