import { allocationOf, sameAllocation } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/** Keeps at least what ran before a change that did harm. */
export const rollback: GuardStep = {
  name: "rollback",
  apply: (allocation, context) => {
    const { before, times, untilMs } = context.rollback ?? {};
    if (before === undefined || times === undefined || untilMs === undefined) return null;
    const replicas = Math.max(allocation.replicas, before.replicas ?? 0);
    const keptAllocation = allocationOf(
      replicas,
      larger(allocation.cpuCores, before.cpuCores),
      larger(allocation.memoryBytes, before.memoryBytes),
    );
    if (sameAllocation(allocation, keptAllocation)) return null;
    return { allocation: keptAllocation, reason: { code: "rolled-back", replicas, times, untilMs } };
  },
};

/** A size that the proposal leaves as it is stays so. */
function larger(proposed: number | undefined, before: number | undefined): number | undefined {
  return proposed === undefined ? undefined : Math.max(proposed, before ?? 0);
}
