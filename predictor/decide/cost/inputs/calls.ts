import { OUTLIER } from "../../../models/queue/take-window.ts";
import { LEVEL_COUNT } from "../learn/outlook.ts";
import type { CostRequest } from "./request.ts";
import type { Calls, ServiceModelMemory } from "../learn/state.ts";

/**
 * Calls of each service for a request of the application, this window included: a window of a service that is called seldom, or of
 * which few traces are kept, says little by itself. Windows before count for as many calls as this one lacks of {@link LEVEL_COUNT}, and
 * not at all where chance does not explain this one by them. Empty where the window
 * does not tell: part of the traffic is missing, or requests fail before they call anything.
 */
export function callsAfter(
  { context, observations, verdict }: Pick<CostRequest, "context" | "observations" | "verdict">,
  services: readonly ServiceModelMemory[],
): ReadonlyMap<string, Calls> {
  const before = new Map(services.map((each) => [each.service, each.calls]));
  const all = verdict.requestsPerSecond;
  const isFailing = verdict.flows.some((each) => each.isFailing);
  if (context.missing !== undefined || isFailing || !(all > 0)) return new Map();
  const requests = verdict.flows.reduce((sum, { calls }) => sum + calls, 0);
  return new Map(
    observations.flatMap(({ service, window }): [string, Calls][] => {
      const perSecond = window?.requestsPerSecond;
      if (perSecond === undefined) return [];
      const had = before.get(service) ?? { calls: 0, requests: 0 };
      const calls = (requests * perSecond) / all;
      const lacking = isExplained(calls, requests, had) ? Math.max(0, LEVEL_COUNT - calls) : 0;
      const kept = lacking / Math.max(had.calls, lacking, 1);
      return [[service, { calls: calls + kept * had.calls, requests: requests + kept * had.requests }]];
    }),
  );
}

/** A Poisson count of calls of so many requests that is not far from what those before say. */
function isExplained(calls: number, requests: number, had: Calls): boolean {
  const expected = had.requests > 0 ? (had.calls / had.requests) * requests : calls;
  return Math.abs(calls - expected) <= OUTLIER * Math.sqrt(1 + expected);
}
