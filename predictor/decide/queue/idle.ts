import type { Observation } from "../facts/observation.ts";
import type { PolicySettings } from "../facts/settings.ts";

/** Known to use little CPU and known to queue nothing: another replica cannot make it faster. */
export function isIdle(observation: Observation, settings: PolicySettings): boolean {
  const { utilisation, queue, readyReplicas } = observation;
  const ownRequests = queue?.ownRequests;
  if (utilisation === undefined || ownRequests === undefined || readyReplicas === undefined) return false;
  return (
    utilisation < settings.idleUtilisation &&
    ownRequests < settings.idleOwnRequests * Math.max(1, readyReplicas)
  );
}
