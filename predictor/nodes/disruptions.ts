import type { PlanDisruptions } from "@tradewind/core/contract/plan.ts";
import type { WorkloadList } from "@tradewind/core/contract/workload.ts";

/** What PodDisruptionBudgets allow the services of a namespace, the tightest of each. */
export function disruptionsOf(list: WorkloadList | undefined, namespace: string): PlanDisruptions[] {
  const byService = new Map<string, PlanDisruptions>();
  for (const { disruptions, namespace: place, service } of list?.workloads ?? []) {
    const known = byService.get(service);
    if (place !== namespace || disruptions === undefined) continue;
    if (known === undefined || disruptions.allowed < known.allowed)
      byService.set(service, { service, ...disruptions });
  }
  return [...byService.values()];
}
