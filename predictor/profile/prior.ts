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

/**
 * How much of what ln stretch gains past saturation shows in a window. A queue that gets more than is served grows for as
 * long as the window lasts, is cut off by callers that give up, and the utilisation is one of arrivals times CPU seconds of
 * other windows: so it is far less. By measurement, see docs/profiles.md.
 */
const SHOWN_PAST_SATURATION = 0.25;

/** ln stretch where the tangent begins. */
const LOG_AT_TANGENT = -Math.log(1 - TANGENT_FROM);

/** ln stretch as windows show it: what trained profiles weigh and correct. */
export function shownLogStretch(utilisation: number): number {
  const log = Math.log(stretch(utilisation));
  if (utilisation <= TANGENT_FROM) return log;
  return LOG_AT_TANGENT + SHOWN_PAST_SATURATION * (log - LOG_AT_TANGENT);
}

/** d shown ln stretch / d utilisation, > 0. */
export function shownLogStretchSlope(utilisation: number): number {
  return (utilisation <= TANGENT_FROM ? 1 : SHOWN_PAST_SATURATION) * logStretchSlope(utilisation);
}

/** d ln stretch / d utilisation, > 0. */
export function logStretchSlope(utilisation: number): number {
  if (utilisation <= TANGENT_FROM) return 1 / (1 - utilisation);
  const room = 1 - TANGENT_FROM;
  return 1 / (room + (utilisation - TANGENT_FROM));
}
