import { baselineReplicas, holdAtBaseline, previousAllocation, refuseWithoutBaseline } from "./baseline.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/**
 * Takes nothing away in the first minutes after the exporter, the predictor or the youngest replica of the service
 * started, or after this predictor took the place of another one: fresh processes know little, a predictor does not know what another
 * one recommended until the platform has carried it out, and a fresh replica has not shown yet what it can carry. That is no reason to
 * ask again for replicas that were given up before they started. Nor does a fresh replica stand in the way of pods that wait for its room,
 * where fewer carry the load that was measured.
 */
export const restartGrace: GuardStep = {
  name: "restart-grace",
  refuse: (context) => (startsInGrace(context).length === 0 ? null : refuseWithoutBaseline(context)),
  apply: (allocation, context) => {
    const starts = startsInGrace(context);
    const last = starts.reduce<RecentStart | undefined>(
      (best, each) => (best === undefined || each.agoSeconds < best.agoSeconds ? each : best),
      undefined,
    );
    const ofReplicasAlone = starts.every(({ started }) => started === "replica");
    const recommended = ofReplicasAlone ? previousAllocation(context)?.replicas : undefined;
    const baseline = recommended ?? baselineReplicas(context);
    if (last === undefined || baseline === undefined) return null;
    return { allocation: holdAtBaseline(allocation, context, baseline), reason: last };
  },
};

type RecentStart = Extract<Reason, { code: "restart-grace" }>;

/** Pods of another service wait for what this one gives up, and it keeps what its load needs. */
function givesRoom({ wish: { allocation, evidence, reasons } }: GuardContext): boolean {
  const need = evidence?.needReplicas;
  return (
    need !== undefined &&
    allocation.replicas >= need &&
    reasons?.some(({ code }) => code === "room-traded") === true
  );
}

function startsInGrace(context: GuardContext): RecentStart[] {
  const { decidedAtMs, exporterStartedAtMs, predictorStartedAtMs, restartGraceSeconds, wish } = context;
  const starts: readonly (readonly [RecentStart["started"], number | undefined])[] = [
    ["exporter", exporterStartedAtMs],
    ["predictor", predictorStartedAtMs],
    ["other-predictor", context.predictorTakenAtMs],
    ["replica", givesRoom(context) ? undefined : wish.observed.lastStartedAtMs],
  ];
  return starts.flatMap(([started, atMs]): RecentStart[] => {
    if (atMs === undefined) return [];
    const agoSeconds = Math.max(0, decidedAtMs - atMs) / 1e3;
    if (agoSeconds >= restartGraceSeconds) return [];
    return [{ code: "restart-grace", started, agoSeconds, graceSeconds: restartGraceSeconds }];
  });
}
