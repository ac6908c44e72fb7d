import type { PlanRoom } from "@tradewind/core/contract/plan.ts";
import { QUOTA_AMOUNTS } from "@tradewind/core/contract/workload.ts";
import type {
  ContainerRange,
  QuotaAmounts,
  Workload,
  WorkloadList,
  WorkloadPod,
} from "@tradewind/core/contract/workload.ts";

/**
 * What the quotas of a namespace leave, what one pod of each service takes, and how many wait for a node; undefined where there are no
 * quotas and none waits.
 */
export function quotaRoom(list: WorkloadList | undefined, namespace: string): PlanRoom | undefined {
  const quotas = (list?.quotas ?? []).filter((quota) => quota.namespace === namespace);
  const workloads = (list?.workloads ?? []).filter((each) => each.namespace === namespace);
  const waiting = workloads.flatMap(({ podsUnscheduled: pods = 0, service }) =>
    pods > 0 ? [{ service, pods }] : [],
  );
  if (quotas.length + waiting.length === 0) return undefined;
  return {
    quotas: quotas.map(({ hard, name, used }) => ({ name, left: leftOf(hard, used) })),
    pods: workloads.flatMap((each) => takesOf(each) ?? []),
    ...(waiting.length > 0 && { waiting }),
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

/** What LimitRanges let a container of a namespace be: of several all count. Undefined where there are none. */
export function containerLimitsOf(
  list: WorkloadList | undefined,
  namespace: string,
): ContainerRange | undefined {
  const own = (list?.containerLimits ?? []).filter((each) => each.namespace === namespace);
  if (own.length === 0) return undefined;
  const most = (of: "cpuMaxCores" | "memoryMaxBytes"): number =>
    Math.min(...own.map((each) => each[of] ?? Infinity));
  const least = (of: "cpuMinCores" | "memoryMinBytes"): number =>
    Math.max(...own.map((each) => each[of] ?? 0));
  const [cpuMaxCores, memoryMaxBytes] = [most("cpuMaxCores"), most("memoryMaxBytes")];
  return {
    cpuMinCores: least("cpuMinCores"),
    memoryMinBytes: least("memoryMinBytes"),
    ...(cpuMaxCores < Infinity && { cpuMaxCores }),
    ...(memoryMaxBytes < Infinity && { memoryMaxBytes }),
  };
}
