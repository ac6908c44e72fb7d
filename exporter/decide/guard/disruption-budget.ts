import { baselineReplicas, boundsOf } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/**
 * Takes no more pods at once than the PodDisruptionBudget of the service allows, from what runs. The maximum of the service counts before
 * it, as a person set that too.
 */
export const disruptionBudget: GuardStep = {
  name: "disruption-budget",
  bindsHeld: true,
  apply: (allocation, context) => {
    const { allowed: allowedReplicas, budget } = context.disruptions ?? {};
    const { replicasReady, replicasWanted } = context.wish.observed;
    const running = replicasWanted ?? replicasReady ?? baselineReplicas(context);
    if (budget === undefined || allowedReplicas === undefined || running === undefined) return null;
    const { maxReplicas, minReplicas } = boundsOf(context);
    const leastReplicas = Math.min(running - allowedReplicas, Math.max(minReplicas, maxReplicas));
    if (allocation.replicas >= leastReplicas) return null;
    return {
      allocation: { ...allocation, replicas: leastReplicas },
      reason: { code: "disruption-budget", budget, allowedReplicas, leastReplicas },
    };
  },
};
