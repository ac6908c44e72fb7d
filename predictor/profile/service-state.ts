import { median, quantile, weightedMedian } from "./order-statistics.ts";
import { inflationAt } from "./cpu-inflation.ts";
import type { CpuInflation } from "./cpu-inflation.ts";
import { stretch, utilisation } from "./prior.ts";

/** What the last windows say of a service as it runs now; follows a deploy or a slower node within minutes, untrained. */
export interface ServiceState {
  /** CPU seconds that one request takes, > 0. */
  readonly cpuSecondsPerRequest: number;
  /** Own tail latency without load, seconds, > 0. */
  readonly baseSeconds: number;
}

/** One window of one service as the estimates below need it; all finite, per container. */
export interface Observation {
  readonly atMs: number;
  readonly cpuCores: number;
  readonly cpuUsageCores: number;
  readonly loadPerContainer: number;
  /** Measured own tail latency. */
  readonly latencySeconds: number;
  /** Mean over the containers, by component, NaN where absent. */
  readonly interference?: readonly number[];
}

/** Above this share of its CPU a container is held back: what it uses is no longer what its requests need. */
const SATURATED_SHARE = 0.9;

/** Loads below this say nothing of what a request costs. */
const LEAST_LOAD = 0.1;

/** Share of the windows, by utilisation, that count as calm. */
const CALM_SHARE = 0.25;

/** Windows the estimate needs; three outvote one disturbed window. */
export const LEAST_OBSERVATIONS = 3;

/** Whether what the containers used is what their requests needed. */
export function tellsCost({ loadPerContainer, cpuUsageCores, cpuCores }: Observation): boolean {
  return loadPerContainer >= LEAST_LOAD && cpuUsageCores > 0 && cpuUsageCores <= SATURATED_SHARE * cpuCores;
}

/**
 * Utilisation law: CPU seconds per request = usage / load, as the median over windows weighted by load, so that idle
 * background work and a few disturbed windows hardly count; saturated windows only where there are no others.
 * @param inflation where given, the cost at its reference interference
 * @returns undefined without enough load to tell
 */
export function cpuSecondsPerRequest(
  observations: readonly Observation[],
  inflation?: CpuInflation,
): number | undefined {
  const loaded = observations.filter(
    ({ loadPerContainer, cpuUsageCores }) => loadPerContainer >= LEAST_LOAD && cpuUsageCores > 0,
  );
  const unsaturated = loaded.filter(tellsCost);
  const telling = unsaturated.length < LEAST_OBSERVATIONS ? loaded : unsaturated;
  if (telling.length < LEAST_OBSERVATIONS) return undefined;
  const ratios = telling.map(
    (each) => each.cpuUsageCores / each.loadPerContainer / inflationOf(each, inflation),
  );
  const weights = telling.map(({ loadPerContainer }) => loadPerContainer);
  return weightedMedian(ratios, weights);
}

const inflationOf = ({ interference }: Observation, inflation: CpuInflation | undefined): number =>
  inflation === undefined || interference === undefined ? 1 : inflationAt(inflation, interference);

/**
 * State of a service from its windows. The base latency is the median of measured / stretch(utilisation)^weight over the
 * calmest quarter of the windows (at least three), where the queue has the least to say.
 * @param priorWeight how strongly this service follows the prior, 1 untrained
 * @param inflation where given, the state at its reference interference
 * @returns undefined with fewer than three usable windows
 */
export function estimateState(
  observations: readonly Observation[],
  priorWeight: number,
  inflation?: CpuInflation,
): ServiceState | undefined {
  const seconds = cpuSecondsPerRequest(observations, inflation);
  const timed = observations.filter(({ latencySeconds, cpuCores }) => latencySeconds > 0 && cpuCores > 0);
  if (seconds === undefined || timed.length < LEAST_OBSERVATIONS) return undefined;
  const used = timed.map((each) =>
    utilisation(each.loadPerContainer, seconds * inflationOf(each, inflation), each.cpuCores),
  );
  const calm = quantile(used, Math.max(CALM_SHARE, (LEAST_OBSERVATIONS - 1) / Math.max(1, used.length - 1)));
  const bases: number[] = [];
  for (const [i, { latencySeconds }] of timed.entries()) {
    const u = used[i] ?? 0;
    if (u <= calm) bases.push(latencySeconds / stretch(u) ** priorWeight);
  }
  return { cpuSecondsPerRequest: seconds, baseSeconds: median(bases) };
}
