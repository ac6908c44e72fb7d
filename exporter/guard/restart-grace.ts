import { baselineReplicas, holdAtBaseline } from "./baseline.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/**
 * Takes nothing away in the first minutes after the exporter, the predictor or the youngest replica of the service
 * started, or after this predictor took the place of another one: fresh processes know little, a predictor does not know what another
 * one recommended until the platform has carried it out, and a fresh replica has not shown yet what it can carry.
 */
export const restartGrace: GuardStep = {
  name: "restart-grace",
  apply: (allocation, context) => {
    const started = lastStart(context);
    if (started === undefined) return null;
    const baseline = baselineReplicas(context);
    if (baseline === undefined) {
      return {
        allocation: null,
        reason: `${started}, and the running replicas are not known, so a lower number cannot be ruled out`,
      };
    }
    const held = holdAtBaseline(allocation, context, baseline);
    if (held === allocation) return null;
    const until = `nothing is taken away in the first ${context.restartGraceSeconds} s`;
    return { allocation: held, reason: `${started}: ${until}` };
  },
};

/** The most recent start inside the grace, in words. */
function lastStart(context: GuardContext): string | undefined {
  const starts: readonly (readonly [string, number | undefined])[] = [
    ["the exporter started", context.exporterStartedAtMs],
    ["the predictor started", context.predictorStartedAtMs],
    ["the predictor took the place of another one", context.predictorTakenAtMs],
    ["the youngest replica started", context.wish.observed.lastStartedAtMs],
  ];
  let last: { what: string; agoMs: number } | undefined;
  for (const [what, atMs] of starts) {
    if (atMs === undefined) continue;
    const agoMs = Math.max(0, context.decidedAtMs - atMs);
    if (agoMs < context.restartGraceSeconds * 1e3 && (last === undefined || agoMs < last.agoMs)) {
      last = { what, agoMs };
    }
  }
  return last === undefined ? undefined : `${last.what} ${Math.round(last.agoMs / 1e3)} s ago`;
}
