import { boundsOf } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/** Takes an optional service down to its minimum while one that comes before it has no room. The steps after it say how fast. */
export const brownout: GuardStep = {
  name: "brownout",
  apply: (allocation, context) => {
    const { brownout: given, mode = "act" } = context;
    const { minReplicas: leastReplicas } = boundsOf(context);
    if (given === undefined || mode !== "act" || allocation.replicas <= leastReplicas) return null;
    const { for: first, quota } = given;
    return {
      allocation: { ...allocation, replicas: leastReplicas },
      reason: { code: "brownout", for: first, ...(quota !== undefined && { quota }), leastReplicas },
    };
  },
};
