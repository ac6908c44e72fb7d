import { baselineReplicas, holdAtBaseline } from "./baseline.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
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
      return { allocation: null, reason: { code: "running-unknown" } };
    }
    const held = holdAtBaseline(allocation, context, baseline);
    if (held === allocation) return null;
    return { allocation: held, reason: started };
  },
};

type Started = Extract<Reason, { code: "restart-grace" }>;

/** The most recent start inside the grace. */
function lastStart(context: GuardContext): Started | undefined {
  const { decidedAtMs, exporterStartedAtMs, predictorStartedAtMs, restartGraceSeconds, wish } = context;
  const starts: readonly (readonly [Started["started"], number | undefined])[] = [
    ["exporter", exporterStartedAtMs],
    ["predictor", predictorStartedAtMs],
    ["other-predictor", context.predictorTakenAtMs],
    ["replica", wish.observed.lastStartedAtMs],
  ];
  let last: Started | undefined;
  for (const [started, atMs] of starts) {
    if (atMs === undefined) continue;
    const agoSeconds = Math.max(0, decidedAtMs - atMs) / 1e3;
    if (agoSeconds < restartGraceSeconds && (last === undefined || agoSeconds < last.agoSeconds)) {
      last = { code: "restart-grace", started, agoSeconds, graceSeconds: restartGraceSeconds };
    }
  }
  return last;
}
