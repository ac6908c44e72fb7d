import type { Allocation, Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { ProposedChange } from "@tradewind/core/contract/proposed-change.ts";
import { SIZES } from "@tradewind/core/contract/recommendation.ts";
import { contentHash } from "@tradewind/core/values/hash.ts";
import type { PolicyState } from "../../decide/state.ts";
import type { ServiceMemory } from "../../decide/facts/state.ts";

/** What of a plan changes a size: compared with what is remembered from before it, else with what runs. */
export function proposedChanges(plan: Plan, { services }: PolicyState): ProposedChange[] {
  const { application, plannedAtMs, policyReason, policyReasons, predictorStartedAtMs, sequence } = plan;
  const memoryOf = new Map(services.map((memory) => [memory.service, memory]));
  return plan.wishes.flatMap((wish) => {
    const { allocation, namespace, service } = wish;
    const before = sizesBefore(wish, memoryOf.get(service));
    const isChanged = SIZES.some(
      (size) =>
        allocation[size] !== undefined && before[size] !== undefined && allocation[size] !== before[size],
    );
    if (!isChanged) return [];
    const what = contentHash([namespace, service, sequence, predictorStartedAtMs]);
    const id = `${Math.trunc(plannedAtMs).toString(36).padStart(9, "0")}-${what}`;
    return [
      {
        id,
        application,
        namespace,
        service,
        decidedAtMs: plannedAtMs,
        before,
        proposal: wish,
        policyReason,
        policyReasons,
      },
    ];
  });
}

function sizesBefore({ evidence, observed }: Wish, memory: ServiceMemory | undefined): Partial<Allocation> {
  const replicas = memory?.replicas ?? observed.replicasWanted;
  const cpuCores = memory?.cpuCores ?? evidence["runningCpuCores"];
  const memoryBytes = memory?.memoryBytes ?? evidence["baseMemoryBytes"];
  return {
    ...(replicas !== undefined && { replicas }),
    ...(cpuCores !== undefined && cpuCores > 0 && { cpuCores }),
    ...(memoryBytes !== undefined && memoryBytes > 0 && { memoryBytes }),
  };
}
