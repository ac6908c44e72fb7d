/**
 * Queueing prior: the own tail latency of a processor-sharing server grows with utilisation u as 1/(1 − u)
 * (M/G/1-PS: mean sojourn s/(1 − u) whatever the service time's distribution; Kleinrock, Queueing Systems II, §4.4).
 */

/** Beyond this utilisation the curve goes on along its tangent: finite past saturation and still rising. */
export const TANGENT_FROM = 0.95;

/** Utilisation of one container by the utilisation law: arrivals per second · CPU seconds each / cores. */
export function utilisation(
  loadPerContainer: number,
  cpuSecondsPerRequest: number,
  cpuCores: number,
): number {
  return (loadPerContainer * cpuSecondsPerRequest) / cpuCores;
}

/** Latency over its value without load. 1 at utilisation 0, 2 at 0.5, 20 at 0.95, 420 at 1.95. */
export function stretch(utilisation: number): number {
  if (utilisation <= TANGENT_FROM) return 1 / (1 - utilisation);
  const room = 1 - TANGENT_FROM;
  return 1 / room + (utilisation - TANGENT_FROM) / (room * room);
}

/** ln stretch up to saturation, where services follow the curve more or less strongly. */
export function logStretchBelow(utilisation: number): number {
  return -Math.log(1 - Math.min(utilisation, TANGENT_FROM));
}

/**
 * What ln stretch gains past saturation. It counts once, however strongly a service follows the curve below: a queue that
 * grows by more than is served grows with the excess alone.
 */
export function logStretchPast(utilisation: number): number {
  return utilisation <= TANGENT_FROM ? 0 : Math.log(stretch(utilisation) * (1 - TANGENT_FROM));
}

/** d ln stretch / d utilisation, > 0. */
export function logStretchSlope(utilisation: number): number {
  if (utilisation <= TANGENT_FROM) return 1 / (1 - utilisation);
  const room = 1 - TANGENT_FROM;
  return 1 / (room + (utilisation - TANGENT_FROM));
}
