import { medianSlope } from "./order-statistics.ts";
import { stretch, utilisation } from "./prior.ts";
import { cpuSecondsPerRequest } from "./service-state.ts";
import type { Observation } from "./service-state.ts";

/** Pairs grow with the square of the windows: this many windows, evenly chosen, are enough. */
const MOST_COMPARED = 300;

/** Windows closer than this in ln stretch say nothing of the slope. */
const LEAST_GAP = 0.2;

/** The prior's own opinion (weight 1) counts as much as this many windows. */
const PRIOR_WINDOWS = 20;

const MOST_WEIGHT = 1.5;

/**
 * How strongly a service follows the prior: slope of ln latency over ln stretch(utilisation) by the median over pairs of
 * windows (Theil-Sen), drawn towards 1 while windows are few.
 * @returns in [0, 1.5]; 1 when nothing can be told
 */
export function estimatePriorWeight(observations: readonly Observation[]): number {
  const seconds = cpuSecondsPerRequest(observations);
  if (seconds === undefined) return 1;
  const every = Math.ceil(observations.length / MOST_COMPARED);
  const chosen = observations.filter(
    ({ latencySeconds, cpuCores }, i) => i % every === 0 && latencySeconds > 0 && cpuCores > 0,
  );
  const stretches = chosen.map(({ loadPerContainer, cpuCores }) =>
    Math.log(stretch(utilisation(loadPerContainer, seconds, cpuCores))),
  );
  const slope = medianSlope(
    stretches,
    chosen.map(({ latencySeconds }) => Math.log(latencySeconds)),
    LEAST_GAP,
  );
  if (!Number.isFinite(slope)) return 1;
  const drawn = (slope * chosen.length + PRIOR_WINDOWS) / (chosen.length + PRIOR_WINDOWS);
  return Math.min(MOST_WEIGHT, Math.max(0, drawn));
}
