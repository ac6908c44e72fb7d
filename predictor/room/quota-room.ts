import type { PlanRoom } from "@tradewind/core/contract/plan.ts";
import { QUOTA_AMOUNTS } from "@tradewind/core/contract/workload.ts";
import type { QuotaAmounts, Workload, WorkloadList, WorkloadPod } from "@tradewind/core/contract/workload.ts";

/** What the quotas of a namespace leave, and what one pod of each service takes of them; undefined without quotas. */
export function quotaRoom(list: WorkloadList | undefined, namespace: string): PlanRoom | undefined {
  const quotas = (list?.quotas ?? []).filter((quota) => quota.namespace === namespace);
  if (list === undefined || quotas.length === 0) return undefined;
  return {
    quotas: quotas.map(({ hard, name, used }) => ({ name, left: leftOf(hard, used) })),
    pods: list.workloads
      .filter((each) => each.namespace === namespace)
      .flatMap((each) => takesOf(each) ?? []),
  };
}

/** A resource of which the use is not known is left out: nothing can be said of it. */
function leftOf(hard: QuotaAmounts, used: QuotaAmounts): QuotaAmounts {
  const left: QuotaAmounts = {};
  for (const amount of QUOTA_AMOUNTS) {
    const [most, now] = [hard[amount], used[amount]];
    if (most !== undefined && now !== undefined) left[amount] = Math.max(0, most - now);
  }
  return left;
}

function takesOf({ pods, revision, service }: Workload): PlanRoom["pods"][number] | undefined {
  const newest = pods.find((pod) => pod.revision === revision) ?? pods[0];
  return newest && { service, takes: { pods: 1, ...amountsOf(newest) } };
}

/** A limit that a container lacks is absent: a quota of limits refuses such a pod, which is not ours to foresee. */
function amountsOf({ containers }: WorkloadPod): QuotaAmounts {
  const total: QuotaAmounts = {};
  for (const amount of QUOTA_AMOUNTS) {
    if (amount === "pods") continue;
    const sizes = containers.flatMap((each) => each[amount] ?? []);
    if (sizes.length > 0) total[amount] = sizes.reduce((sum, size) => sum + size, 0);
  }
  return total;
}
