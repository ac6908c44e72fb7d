import type { CpuDemand } from "./demand.ts";

/** Replicas for a CPU demand. */
export interface Need {
  /** Fewest replicas whose use stays within the utilisation asked for. */
  readonly replicas: number;
  /** CPU demand over the capacity of the ready replicas. */
  readonly utilisation: number;
}

/**
 * Fewest replicas such that demand per replica stays within `utilisation` of a pod's capacity, or undefined when it cannot
 * be known. Ready pods that were not measured oppose the move, as the HPA does it: they count as idle when the measured
 * ones ask for more replicas and as full when they ask for fewer, and the direction never turns.
 * @param readyReplicas replicas that serve; 0 gives undefined
 * @param growthLimit the need is at most this many times `readyReplicas`
 */
export function reactiveNeed(
  demand: CpuDemand,
  readyReplicas: number,
  utilisation: number,
  growthLimit: number,
): Need | undefined {
  if (readyReplicas <= 0) return undefined;
  const perReplica = demand.podCapacityCores * utilisation;
  const missing = Math.max(0, readyReplicas - demand.podsMeasured);
  const measured = Math.min(readyReplicas, demand.podsMeasured);
  const measuredNeed = ceilReplicas(demand.cores / perReplica);
  const most = Math.max(readyReplicas + 1, Math.floor(readyReplicas * growthLimit));
  const busy = demand.cores / (demand.podCapacityCores * Math.max(measured, 1));
  if (missing === 0) return { replicas: Math.min(measuredNeed, most), utilisation: busy };
  if (measuredNeed > measured) {
    return { replicas: Math.min(Math.max(measuredNeed, readyReplicas), most), utilisation: busy };
  }
  const asFull = ceilReplicas((demand.cores + missing * demand.podCapacityCores) / perReplica);
  return { replicas: Math.min(asFull, readyReplicas), utilisation: busy };
}

/** Tolerates the rounding of sums: 3.0000000001 replicas are 3. At least 1. */
function ceilReplicas(replicas: number): number {
  return Math.max(1, Math.ceil(replicas - 1e-6));
}
