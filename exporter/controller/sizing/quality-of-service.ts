import type { Pod, PodContainer } from "@tradewind/kubernetes/objects/pod.ts";
import type { ContainerSize } from "./size-history.ts";
import { SIZED } from "./size-history.ts";

/** The largest share of a limit that a request may take where both equal would make another class of the pod. */
export const BELOW_LIMIT = 0.99;

/**
 * The part of a wished size that keeps the pod's QoS class, which Kubernetes does not let change: a BestEffort pod may
 * get no request; a Guaranteed container's request is its limit, so it may only change where limits change with it; a
 * Burstable one's stays under its limit.
 * @param limitsFollow whether limits are changed along with requests
 * @returns what may be asked for, or why nothing may
 */
export function keepingClass(
  pod: Pod,
  container: PodContainer,
  wished: ContainerSize,
  limitsFollow: boolean,
):
  | { readonly size: ContainerSize; readonly reason?: never }
  | { readonly reason: string; readonly size?: never } {
  if (pod.qosClass === "BestEffort") {
    return { reason: "its pods have no requests (BestEffort); give them one first" };
  }
  if (pod.qosClass === "Guaranteed") {
    return limitsFollow
      ? { size: wished }
      : {
          reason: "its pods are Guaranteed and only requests may change; allow limits to follow, or leave it",
        };
  }
  if (limitsFollow) return { size: wished };
  const size: Partial<Record<(typeof SIZED)[number], number>> = {};
  for (const resource of SIZED) {
    const value = wished[resource];
    const limit = container.limits[resource];
    if (value === undefined) continue;
    size[resource] = limit === undefined || limit === 0 ? value : Math.min(value, limit * BELOW_LIMIT);
  }
  return { size };
}
