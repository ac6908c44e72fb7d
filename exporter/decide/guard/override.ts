import { overrideReason } from "@tradewind/core/contract/override.ts";
import { allocationOf, previousAllocation } from "./baseline.ts";
import type { GuardContext, GuardStep } from "./step.ts";

/**
 * What a person ordered in the place of the plan. A hold is exactly that, whatever the plan, approvals, calendars or earlier harm say; a floor
 * adds. A pause needs no step: its decisions are not carried out.
 */
export const override: GuardStep = {
  name: "override",
  bindsHeld: true,
  apply: (allocation, context) => {
    const { override: order } = context;
    if (order === undefined || order.kind === "pause") return null;
    if (order.kind === "floor") {
      const replicas = Math.max(allocation.replicas, order.replicas ?? 0);
      return { allocation: { ...allocation, replicas }, reason: overrideReason(order) };
    }
    const { observed } = context.wish;
    // What was not known when it was ordered stays as it was decided last, or as it runs.
    const last = previousAllocation(context) ?? {
      replicas: observed.replicasWanted ?? observed.replicasReady ?? allocation.replicas,
    };
    const held = order.replicas === undefined ? last : order;
    return {
      allocation: allocationOf(order.replicas ?? last.replicas, held.cpuCores, held.memoryBytes),
      reason: overrideReason(order),
    };
  },
};

/** Whether the service is fixed: only what a cluster or a configuration cannot carry out counts against it. */
export const isHeld = ({ override: order }: GuardContext): boolean =>
  order?.kind === "hold" || order?.kind === "undo";
