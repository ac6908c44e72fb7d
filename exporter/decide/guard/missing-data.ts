import { baselineReplicas, holdAtBaseline } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/**
 * Missing data opposes the move. With latency, load or replicas missing from the window nothing is taken away, and
 * growth goes no faster than the default scale-up policy of the Horizontal Pod Autoscaler: twice the replicas or four
 * more, whichever is larger, per decision. Without any known number of replicas there is nothing to hold on to.
 */
export const missingData: GuardStep = {
  name: "missing-data",
  apply: (allocation, context) => {
    if (context.wish.observed.complete) return null;
    const baseline = baselineReplicas(context);
    if (baseline === undefined) {
      return { allocation: null, reason: { code: "running-unknown" } };
    }
    const fastest = Math.max(2 * baseline, baseline + 4);
    if (allocation.replicas > fastest) {
      return {
        allocation: holdAtBaseline({ ...allocation, replicas: fastest }, context, baseline),
        reason: { code: "growth-limit", fromReplicas: baseline, mostReplicas: fastest },
      };
    }
    const held = holdAtBaseline(allocation, context, baseline);
    if (held === allocation) return null;
    return { allocation: held, reason: { code: "data-missing" } };
  },
};
