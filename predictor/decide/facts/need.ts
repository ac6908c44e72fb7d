import type { CpuDemand } from "./demand.ts";
import type { PolicySettings } from "./settings.ts";

/** Replicas for a CPU demand. */
export interface Need {
  /** Fewest replicas that measured demand proves necessary: pods that were not measured count as idle. */
  readonly atLeast: number;
  /** Replicas that are enough for certain: pods that were not measured count as full. */
  readonly enough: number;
  /** CPU demand over the capacity of the measured replicas. */
  readonly utilisation: number;
}

/**
 * Replicas such that demand per replica stays within `growUtilisation` (`atLeast`) or `shrinkUtilisation` (`enough`) of a
 * pod's capacity, or undefined when nothing serves. Ready pods that were not measured oppose the move, as in the HPA:
 * they are no reason to add and no room to remove.
 * @param readyReplicas replicas that serve
 */
export function reactiveNeed(
  demand: CpuDemand,
  readyReplicas: number,
  limits: Pick<PolicySettings, "targetUtilisation" | "shrinkUtilisation" | "needGrowthLimit">,
): Need | undefined {
  if (readyReplicas <= 0) return undefined;
  const { cores, podCapacityCores, podsMeasured } = demand;
  const most = Math.max(readyReplicas + 1, Math.floor(readyReplicas * limits.needGrowthLimit));
  const unmeasured = Math.max(0, readyReplicas - podsMeasured);
  const possible = cores + unmeasured * podCapacityCores;
  return {
    atLeast: Math.min(most, ceilReplicas(cores / (podCapacityCores * limits.targetUtilisation))),
    enough: ceilReplicas(possible / (podCapacityCores * limits.shrinkUtilisation)),
    utilisation: cores / (podCapacityCores * Math.max(1, Math.min(podsMeasured, readyReplicas))),
  };
}

/** An HorizontalPodAutoscaler at 80 % with its tolerance of a tenth acts from here on. */
const HPA_UTILISATION = 0.8;
const HPA_TOLERANCE = 1.1;

/** The containers use so much of what they have that an HPA at 80 % would add replicas. */
export function isSaturated({ podCapacityCores, podsMeasured, usageCores }: CpuDemand): boolean {
  return usageCores > HPA_TOLERANCE * HPA_UTILISATION * podCapacityCores * podsMeasured;
}

/**
 * CPU of all containers that use alone proves necessary, cores: what an HPA at 80 % asks for, 0 while it would ask for nothing. What
 * throttling and queues say beyond that is left to the models: pods that warm up or do not fit their nodes made that dearer than
 * it was worth.
 */
export const provenCores = (demand: CpuDemand): number =>
  isSaturated(demand) ? demand.usageCores / HPA_UTILISATION : 0;

/** Tolerates the rounding of sums: 3.0000000001 replicas are 3. At least 1. */
function ceilReplicas(replicas: number): number {
  return Math.max(1, Math.ceil(replicas - 1e-6));
}
