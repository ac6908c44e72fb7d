import { normalCdf, normalDensity } from "../../../models/normal.ts";

/** Standard normal quantile of the percentiles that objectives have; found by bisection, exact to 1e-9. */
export function normalQuantile(probability: number): number {
  let [low, high] = [-8, 8];
  for (let round = 0; round < 60; round += 1) {
    const middle = (low + high) / 2;
    if (normalCdf(middle) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** A route's latency as predicted: log-normal times of which a percentile is known. */
export interface PredictedLatency {
  /** Predicted percentile, seconds. */
  readonly tailSeconds: number;
  /** Standard normal quantile of that percentile. */
  readonly quantile: number;
  /** Standard deviation of ln(latency) of the route's requests. */
  readonly spread: number;
  /** Standard deviation of ln(prediction). */
  readonly sigma: number;
}

/** Mean of ln(latency / objective), and its standard deviation with what the prediction may be off. */
const lateness = ({ quantile, sigma, spread, tailSeconds }: PredictedLatency, objectiveSeconds: number) => ({
  mean: Math.log(tailSeconds / objectiveSeconds) - quantile * spread,
  deviation: Math.hypot(spread, sigma),
});

/** Expected share of a route's requests over their objective, in [0, 1]. */
export function shareOver(latency: PredictedLatency, objectiveSeconds: number): number {
  if (!(latency.tailSeconds > 0)) return 0;
  const { deviation, mean } = lateness(latency, objectiveSeconds);
  return normalCdf(mean / deviation);
}

/**
 * What a request costs in the mean: 1 where it is over its objective, and 1 more for each factor e by which it is. So an
 * application that is far from its objective still gains by every step towards it.
 */
export function expectedLoss(latency: PredictedLatency, objectiveSeconds: number): number {
  if (!(latency.tailSeconds > 0)) return 0;
  const { deviation, mean } = lateness(latency, objectiveSeconds);
  const at = mean / deviation;
  const over = normalCdf(at);
  return over + mean * over + deviation * normalDensity(at);
}

/** d {@link expectedLoss} / d tail, per second. */
export function lossByTail(latency: PredictedLatency, objectiveSeconds: number): number {
  if (!(latency.tailSeconds > 0)) return 0;
  const { deviation, mean } = lateness(latency, objectiveSeconds);
  const at = mean / deviation;
  return (normalCdf(at) + normalDensity(at) / deviation) / latency.tailSeconds;
}
