import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import { allocationOf, previousAllocation, refuseWithoutBaseline, sameAllocation } from "./baseline.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/**
 * Limits how far one decision goes from the one before, and all decisions of one period from the one before the period, so that wrong plans
 * do little, however many come. Without a decision before, from what runs. Growth always reaches what runs; zero is reached from one only.
 * Container sizes change by the same ratios.
 */
export const changeLimit: GuardStep = {
  name: "change-limit",
  refuse: (context) => (context.limits === undefined ? null : refuseWithoutBaseline(context)),
  apply: (allocation, context) => {
    const { limits } = context;
    const { replicasReady, replicasWanted } = context.wish.observed;
    const running = replicasWanted ?? replicasReady;
    const previous = previousAllocation(context);
    const start = previous && context.periodStart?.final;
    const from = previous?.replicas ?? running;
    if (limits === undefined || from === undefined) return null;
    const { replicas: first = from } = start ?? {};
    const range = common(replicaRange(from, limits), replicaRange(first, limits), from);
    const limited = allocationOf(
      clamped(allocation.replicas, { ...range, highest: Math.max(range.highest, running ?? 0) }),
      sizeOf("cpuCores", allocation, context, limits),
      sizeOf("memoryBytes", allocation, context, limits),
    );
    if (sameAllocation(allocation, limited)) return null;
    const { growRatio, shrinkRatio } = limits;
    const reason: Reason =
      limited.replicas === allocation.replicas
        ? { code: "container-change-limit", growRatio, shrinkRatio }
        : { code: "change-limit", fromReplicas: first, limitReplicas: limited.replicas };
    return { allocation: limited, reason };
  },
};

/** Of a container; what is recommended, or runs, is where it starts from. */
function sizeOf(
  size: "cpuCores" | "memoryBytes",
  allocation: Allocation,
  context: GuardContext,
  limits: GuardLimits,
): number | undefined {
  const previous = previousAllocation(context);
  const before = previous?.[size] ?? context.wish.observed[size];
  const asked = allocation[size];
  if (asked === undefined || before === undefined) return asked;
  const first = (previous && context.periodStart?.final[size]) ?? before;
  return clamped(asked, common(sizeRange(before, limits), sizeRange(first, limits), before));
}

interface Range {
  readonly lowest: number;
  readonly highest: number;
}

const replicaRange = (from: number, { growRatio, growReplicas, shrinkRatio }: GuardLimits): Range => ({
  lowest: from <= 1 ? 0 : Math.ceil(shrinkRatio * from),
  highest: Math.floor(growRatio * from) + growReplicas,
});

const sizeRange = (from: number, { growRatio, shrinkRatio }: GuardLimits): Range => ({
  lowest: from * shrinkRatio,
  highest: from * growRatio,
});

/** What both allow. What is recommended already may stay. */
const common = (one: Range, other: Range, present: number): Range => ({
  lowest: Math.min(Math.max(one.lowest, other.lowest), present),
  highest: Math.max(Math.min(one.highest, other.highest), present),
});

const clamped = (value: number, { highest, lowest }: Range): number =>
  Math.max(Math.min(value, highest), lowest);
