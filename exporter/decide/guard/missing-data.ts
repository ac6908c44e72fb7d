import { baselineReplicas, holdAtBaseline, refuseWithoutBaseline } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/**
 * Missing data opposes the move. With latency, load or replicas missing from the window nothing is scaled down, and
 * growth goes no faster than the default scale-up policy of the Horizontal Pod Autoscaler: twice the replicas or four
 * more, whichever is larger, per decision. Without any known number of replicas there is nothing to hold on to.
 */
export const missingData: GuardStep = {
  name: "missing-data",
  refuse: (context) => (context.wish.observed.complete ? null : refuseWithoutBaseline(context)),
  apply: (allocation, context) => {
    const baseline = baselineReplicas(context);
    if (context.wish.observed.complete || baseline === undefined) return null;
    const fastest = Math.max(2 * baseline, baseline + 4);
    if (allocation.replicas > fastest) {
      return {
        allocation: holdAtBaseline({ ...allocation, replicas: fastest }, context, baseline),
        reason: { code: "growth-limit", fromReplicas: baseline, mostReplicas: fastest },
      };
    }
    return { allocation: holdAtBaseline(allocation, context, baseline), reason: { code: "data-missing" } };
  },
};
