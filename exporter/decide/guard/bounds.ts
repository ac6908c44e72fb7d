import type { Allocation, Bounds } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import { allocationOf, boundsOf, sameAllocation } from "./baseline.ts";
import type { GuardStep } from "./step.ts";

/** Keeps the allocation inside the minimum and maximum, and rounds container sizes up to whole steps. */
export const bounds: GuardStep = {
  name: "bounds",
  bindsHeld: true,
  apply: (allocation, context) => {
    const limits = boundsOf(context);
    const within = bounded(allocation, limits);
    if (sameAllocation(allocation, within)) return null;
    return { allocation: within, reason: reason(allocation.replicas, within.replicas, limits) };
  },
};

/** Inside of the bounds, in whole steps. */
export function bounded({ cpuCores, memoryBytes, replicas }: Allocation, limits: Bounds): Allocation {
  return allocationOf(
    clamp(replicas, limits.minReplicas, limits.maxReplicas),
    sized(cpuCores, limits.cpuStepCores, limits.cpuMinCores, limits.cpuMaxCores),
    sized(memoryBytes, limits.memoryStepBytes, limits.memoryMinBytes, limits.memoryMaxBytes),
  );
}

function reason(wished: number, replicas: number, { minReplicas, maxReplicas }: Bounds): Reason {
  if (replicas > wished) return { code: "min-replicas", minReplicas };
  if (replicas < wished) return { code: "max-replicas", maxReplicas };
  return { code: "container-bounds" };
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(value, max));
}

function sized(value: number | undefined, step: number | undefined, min: number, max: number) {
  if (value === undefined) return undefined;
  return clamp(step === undefined ? value : roundUp(value, step), min, max);
}

/** The smallest multiple of the step that is not below the value; a rounding error of the division is no reason for one more. */
function roundUp(value: number, step: number): number {
  return Math.ceil(value / step - 1e-9) * step;
}
