import { normalCdf } from "../endtoend/normal.ts";

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

/**
 * Expected share of a route's requests over their objective, in [0, 1]: times are log-normal with the predicted percentile
 * and the route's own spread, and the prediction may be off.
 * @param tailSeconds predicted percentile of the route's latency
 * @param quantile standard normal quantile of that percentile
 * @param spread standard deviation of ln(latency) of the route's requests
 * @param sigma standard deviation of ln(prediction)
 */
export function shareOver(
  tailSeconds: number,
  objectiveSeconds: number,
  quantile: number,
  spread: number,
  sigma: number,
): number {
  if (!(tailSeconds > 0)) return 0;
  const distance = quantile * spread + Math.log(objectiveSeconds / tailSeconds);
  return normalCdf(-distance / Math.hypot(spread, sigma));
}
