import { baselineReplicas } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/** Ends growth where a quota of the namespace has no room for more pods. What runs stays. */
export const room: GuardStep = {
  name: "room",
  bindsHeld: true,
  apply: (allocation, context) => {
    const { mostReplicas, quota, ahead = [] } = context.room ?? {};
    if (mostReplicas === undefined || quota === undefined) return null;
    const { replicasReady, replicasWanted } = context.wish.observed;
    const running = replicasWanted ?? replicasReady ?? baselineReplicas(context) ?? 0;
    const replicas = Math.max(mostReplicas, Math.min(running, allocation.replicas));
    if (allocation.replicas <= replicas) return null;
    return {
      allocation: { ...allocation, replicas },
      reason: { code: "quota", quota, mostReplicas: replicas, ahead: [...ahead] },
    };
  },
};
