import type { Allocation, Bounds } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { GuardContext } from "./step.ts";

/**
 * The replicas a doubtful move must not go below: what the platform runs, and what was last recommended unless that
 * is stale. Undefined when neither is known.
 */
export function baselineReplicas(context: GuardContext): number | undefined {
  const { replicasWanted, replicasReady } = context.wish.observed;
  const running = replicasWanted ?? replicasReady;
  const recommended = previousAllocation(context)?.replicas;
  if (running === undefined) return recommended;
  return Math.max(running, recommended ?? 0);
}

/** Where no replicas are known there is nothing to hold on to. */
export const refuseWithoutBaseline = (context: GuardContext): Reason | null =>
  baselineReplicas(context) === undefined ? { code: "running-unknown" } : null;

/**
 * The bounds that count: the exporter's own, and the plan's only for what the exporter does not know. Where a maximum lies
 * under its minimum the minimum counts.
 */
export function boundsOf({ limits, wish }: GuardContext): Bounds {
  if (limits === undefined) return wish.bounds;
  const { container, maxReplicas, minReplicas } = limits;
  return { ...wish.bounds, ...container, minReplicas, maxReplicas };
}

/** The last allocation, unless it was decided longer ago than decisions live. */
export function previousAllocation(context: GuardContext): Allocation | undefined {
  const { previous, previousDecidedAtMs, decidedAtMs, staleAfterSeconds } = context;
  if (previous === undefined || previousDecidedAtMs === undefined) return undefined;
  return decidedAtMs - previousDecidedAtMs <= staleAfterSeconds * 1e3 ? previous : undefined;
}

/**
 * The allocation with nothing taken away from the baseline: replicas, and container sizes where it states one and the last allocation,
 * else what runs, does too.
 * Never above the maximum. Returns the same object when nothing had to be held.
 */
export function holdAtBaseline(allocation: Allocation, context: GuardContext, baseline: number): Allocation {
  const bounds = boundsOf(context);
  const previous = previousAllocation(context);
  const { observed } = context.wish;
  const ceiling = Math.max(bounds.minReplicas, bounds.maxReplicas);
  const replicas = Math.max(allocation.replicas, Math.min(baseline, ceiling));
  const [heldCores, heldBytes] = [
    previous?.cpuCores ?? observed.cpuCores,
    previous?.memoryBytes ?? observed.memoryBytes,
  ];
  const cpuCores = larger(allocation.cpuCores, heldCores, bounds.cpuMaxCores);
  const memoryBytes = larger(allocation.memoryBytes, heldBytes, bounds.memoryMaxBytes);
  return sameAllocation(allocation, { replicas, cpuCores, memoryBytes })
    ? allocation
    : allocationOf(replicas, cpuCores, memoryBytes);
}

/** An allocation without the parts that are absent. */
export function allocationOf(
  replicas: number,
  cpuCores: number | undefined,
  memoryBytes: number | undefined,
): Allocation {
  return {
    replicas,
    ...(cpuCores === undefined ? {} : { cpuCores }),
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
  };
}

/** An allocation whose absent parts may be spelt out. */
export interface LooseAllocation {
  readonly replicas: number;
  readonly cpuCores?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

export function sameAllocation(a: LooseAllocation, b: LooseAllocation): boolean {
  return a.replicas === b.replicas && a.cpuCores === b.cpuCores && a.memoryBytes === b.memoryBytes;
}

function larger(wished: number | undefined, held: number | undefined, max: number): number | undefined {
  if (wished === undefined || held === undefined) return wished;
  return Math.max(wished, Math.min(held, max));
}
