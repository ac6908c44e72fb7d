import type { LatencySummary } from "@tradewind/core/contract/window.ts";
import { flowTailSeconds } from "../../facts/objective.ts";

/** The nearest to an objective's percentile of those that windows carry and models predict. */
export const modelPercentile = (percentile: number): 0.5 | 0.95 | 0.99 =>
  percentile > 0.97 ? 0.99 : percentile > 0.725 ? 0.95 : 0.5;

/** Self time as measured, at the percentile that models predict for an objective of this percentile, seconds. */
export const ownTailSeconds = (own: LatencySummary | undefined, percentile: number): number | undefined =>
  own && flowTailSeconds(own, modelPercentile(percentile));
