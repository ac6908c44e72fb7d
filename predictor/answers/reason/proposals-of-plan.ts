import type { Plan, Wish } from "@tradewind/core/contract/plan.ts";
import type { Proposal } from "@tradewind/core/contract/proposal.ts";
import { formatMemory } from "@tradewind/core/values/amounts.ts";

/**
 * What a plan changes, in InfraLLM's form: one proposal for each service that is to have another size.
 * @param confidenceOf percent, by service
 */
export function proposalsOf(
  { plannedAtMs, wishes }: Pick<Plan, "plannedAtMs" | "wishes">,
  confidenceOf: (service: string) => number,
): Proposal[] {
  const time = new Date(plannedAtMs).toISOString();
  return wishes.flatMap((wish) => {
    const { namespace, reason, service } = wish;
    const { configuration, rules } = changeOf(wish);
    if (rules.length === 0) return [];
    return [
      {
        name: `${service}-${namespace}`.slice(0, 200),
        target: { service, namespace },
        time,
        rules,
        configuration,
        confidence: Math.round(confidenceOf(service)),
        reason,
      },
    ];
  });
}

function changeOf({ allocation, evidence }: Wish): Pick<Proposal, "configuration" | "rules"> {
  const { cpuCores, memoryBytes, replicas } = allocation;
  const { baseCpuCores, baseMemoryBytes, baseReplicas } = evidence;
  const isScaled = replicas !== baseReplicas;
  const isCpu = cpuCores !== undefined && cpuCores !== baseCpuCores;
  const isMemory = memoryBytes !== undefined && memoryBytes !== baseMemoryBytes;
  return {
    rules: [...(isScaled ? ["scale"] : []), ...(isCpu || isMemory ? ["resize"] : [])],
    configuration: {
      ...(isScaled && { replicas }),
      ...(isCpu && { cpu: cpuCores }),
      ...(isMemory && { memory: formatMemory(memoryBytes) }),
    },
  };
}
