import { OUTLIER } from "../../../models/queue/take-window.ts";
import type { CostWindow } from "./cost-window.ts";
import { LEVEL_COUNT } from "./outlook.ts";
import type { Calls, ServiceModelMemory } from "./state.ts";

/** A window without part of the traffic, or whose requests fail before they call anything, says nothing of calls. */
export const areCallsMeasured = ({ missing, verdict }: Pick<CostWindow, "missing" | "verdict">): boolean =>
  missing === undefined && !verdict.flows.some(({ isFailing }) => isFailing) && verdict.requestsPerSecond > 0;

/**
 * Calls of each service for a request of the application, this window included. Where the window has fewer than
 * {@link LEVEL_COUNT} calls, earlier windows count for the difference, unless they differ by more than chance.
 * @returns by service; none where {@link areCallsMeasured} is false
 */
export function callsAfter(
  window: Pick<CostWindow, "missing" | "observations" | "verdict">,
  services: readonly ServiceModelMemory[],
): ReadonlyMap<string, Calls> {
  const { observations, verdict } = window;
  if (!areCallsMeasured(window)) return new Map();
  const callsBefore = new Map(services.map(({ calls, service }) => [service, calls]));
  const requests = verdict.flows.reduce((sum, { calls }) => sum + calls, 0);
  return new Map(
    observations.flatMap((observation): [string, Calls][] => {
      const perSecond = observation.window?.requestsPerSecond;
      if (perSecond === undefined) return [];
      const earlier = callsBefore.get(observation.service) ?? { calls: 0, requests: 0 };
      const calls = (requests * perSecond) / verdict.requestsPerSecond;
      const lacking = isByChance(calls, requests, earlier) ? Math.max(0, LEVEL_COUNT - calls) : 0;
      const share = lacking / Math.max(earlier.calls, lacking, 1);
      const mean = { calls: calls + share * earlier.calls, requests: requests + share * earlier.requests };
      return [[observation.service, mean]];
    }),
  );
}

/** Whether a Poisson count of calls differs from what earlier windows expect by no more than chance. */
function isByChance(calls: number, requests: number, earlier: Calls): boolean {
  const expected = earlier.requests > 0 ? (earlier.calls / earlier.requests) * requests : calls;
  return Math.abs(calls - expected) <= OUTLIER * Math.sqrt(1 + expected);
}
