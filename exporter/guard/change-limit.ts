import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { allocationOf, previousAllocation, sameAllocation } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/**
 * Limits how far one decision goes from the one before, so that a single wrong plan does little. Without a decision before,
 * from what runs. Growth always reaches what runs; zero is reached from one only. Container sizes change by the same ratios.
 */
export const changeLimit: GuardStep = {
  name: "change-limit",
  apply: (allocation, context) => {
    const { limits } = context;
    if (limits === undefined) return null;
    const { cpuCores, memoryBytes, replicasReady, replicasWanted } = context.wish.observed;
    const running = replicasWanted ?? replicasReady;
    const previous = previousAllocation(context);
    const from = previous?.replicas ?? running;
    if (from === undefined) {
      return { allocation: null, reason: { code: "running-unknown" } };
    }
    const highest = Math.max(Math.floor(limits.growRatio * from) + limits.growReplicas, running ?? 0);
    const lowest = from <= 1 ? 0 : Math.ceil(limits.shrinkRatio * from);
    const limited = allocationOf(
      Math.max(Math.min(allocation.replicas, highest), lowest),
      near(allocation.cpuCores, previous?.cpuCores ?? cpuCores, limits),
      near(allocation.memoryBytes, previous?.memoryBytes ?? memoryBytes, limits),
    );
    if (sameAllocation(allocation, limited)) return null;
    const { growRatio, shrinkRatio } = limits;
    const reason: Reason =
      limited.replicas === allocation.replicas
        ? { code: "container-change-limit", growRatio, shrinkRatio }
        : { code: "change-limit", fromReplicas: from, limitReplicas: limited.replicas };
    return { allocation: limited, reason };
  },
};

function near(
  wished: number | undefined,
  before: number | undefined,
  { growRatio, shrinkRatio }: GuardLimits,
): number | undefined {
  if (wished === undefined || before === undefined) return wished;
  return Math.max(Math.min(wished, before * growRatio), before * shrinkRatio);
}
