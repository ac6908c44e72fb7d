import { z } from "zod";
import { NodeClassName } from "@tradewind/core/contract/quantity.ts";
import type { Taint } from "@tradewind/core/contract/placing.ts";
import type { ContainerLimits } from "@tradewind/core/contract/workload.ts";
import { ListOf } from "./bounded.ts";
import { Identity, StringMap } from "./metadata.ts";
import { AmountList, cpuAndMemory, OS_LABEL, WINDOWS } from "./pod-spec.ts";
import { Quantity } from "./quantity.ts";

/** Set by cloud providers. */
const INSTANCE_TYPE = "node.kubernetes.io/instance-type";

/** Conditions and taints of a node, scopes of a quota. */
const MOST_LISTED = 250;

/** Taints that the cluster itself sets, and what they say. */
const CORDONED = "node.kubernetes.io/unschedulable";
const NOT_READY = "node.kubernetes.io/not-ready";

export const TaintList = ListOf(
  z
    .object({ key: z.string(), value: z.string().nullish(), effect: z.string() })
    .transform(({ effect, key, value }): Taint => ({ key, ...(value && { value }), effect })),
  MOST_LISTED,
);

/** A node's room for pods. */
export const Node = z
  .object({
    metadata: z.object({ name: z.string().min(1), labels: StringMap }),
    spec: z.object({ unschedulable: z.boolean().nullish(), taints: TaintList }).nullish(),
    status: z.object({
      allocatable: AmountList,
      conditions: ListOf(z.object({ type: z.string(), status: z.string() }), MOST_LISTED),
    }),
  })
  .transform(({ metadata, spec, status }) => {
    const { cpu: _cpu, memory: _memory, pods, ...others } = status.allocatable;
    const isReady = status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True");
    const isCordoned = spec?.unschedulable === true;
    const known = spec?.taints ?? [];
    // The controllers that add them may be late.
    const added = [
      ...(isCordoned ? [{ key: CORDONED, effect: "NoSchedule" }] : []),
      ...(isReady ? [] : [{ key: NOT_READY, effect: "NoSchedule" }]),
      // The scheduler may choose it for any pod, and its kubelet then refuses those of Linux.
      ...(metadata.labels[OS_LABEL] === WINDOWS
        ? [{ key: OS_LABEL, value: WINDOWS, effect: "NoSchedule" }]
        : []),
    ].filter(({ key }) => !known.some((each) => each.key === key));
    return {
      name: metadata.name,
      /** Takes new pods. */
      schedulable: isReady && !isCordoned,
      ...cpuAndMemory(status.allocatable),
      pods,
      others,
      labels: metadata.labels,
      taints: [...known, ...added],
      instanceType: NodeClassName.safeParse(metadata.labels[INSTANCE_TYPE]).data,
    };
  });
export type Node = z.infer<typeof Node>;

/** Names in a quota that bound what Tradewind changes, and the unit-free key used for each. */
const QUOTA_KEYS: Readonly<Record<string, QuotaResource>> = {
  cpu: "cpuRequestCores",
  "requests.cpu": "cpuRequestCores",
  memory: "memoryRequestBytes",
  "requests.memory": "memoryRequestBytes",
  "limits.cpu": "cpuLimitCores",
  "limits.memory": "memoryLimitBytes",
  pods: "pods",
  "count/pods": "pods",
};
export type QuotaResource =
  "cpuRequestCores" | "memoryRequestBytes" | "cpuLimitCores" | "memoryLimitBytes" | "pods";

function amounts(map: Readonly<Record<string, string>>): Partial<Record<QuotaResource, number>> {
  const known: Partial<Record<QuotaResource, number>> = {};
  for (const [name, text] of Object.entries(map)) {
    const key = QUOTA_KEYS[name];
    const value = key === undefined ? undefined : Quantity.safeParse(text).data;
    if (key === undefined || value === undefined) continue;
    known[key] = Math.min(known[key] ?? Number.POSITIVE_INFINITY, value);
  }
  return known;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

/** What a namespace may use and uses. A quota with a scope counts only some pods, so it is not taken for the namespace's. */
export const ResourceQuota = z
  .object({
    metadata: Identity,
    spec: z
      .object({ scopes: ListOf(z.string(), MOST_LISTED), scopeSelector: z.unknown().optional() })
      .nullish()
      .transform((spec) => (spec?.scopes.length ?? 0) > 0 || isGiven(spec?.scopeSelector)),
    status: z.object({ hard: StringMap, used: StringMap }).nullish(),
  })
  .transform(({ metadata: { name, namespace }, spec: isScoped, status }) => ({
    name,
    namespace,
    isScoped,
    hard: amounts(status?.hard ?? {}),
    used: amounts(status?.used ?? {}),
  }));
export type ResourceQuota = z.infer<typeof ResourceQuota>;

const Limited = z.object({ type: z.string(), min: AmountList, max: AmountList });

/** What a namespace lets a container be at least and at most; a pod's most is its container's too. */
export const LimitRange = z
  .object({ metadata: Identity, spec: z.object({ limits: ListOf(Limited, MOST_LISTED) }) })
  .transform(({ metadata: { namespace }, spec: { limits } }): ContainerLimits => {
    const ofContainers = limits.filter(({ type }) => type === "Container");
    const ofAny = limits.filter(({ type }) => type === "Container" || type === "Pod");
    const least = (resource: string): number =>
      Math.max(0, ...ofContainers.map(({ min }) => min[resource] ?? 0));
    const most = (resource: string): number =>
      Math.min(Infinity, ...ofAny.map(({ max }) => max[resource] ?? Infinity));
    const given = (name: string, value: number): Record<string, number> =>
      value > 0 && value < Infinity ? { [name]: value } : {};
    return {
      namespace,
      ...given("cpuMinCores", least("cpu")),
      ...given("cpuMaxCores", most("cpu")),
      ...given("memoryMinBytes", least("memory")),
      ...given("memoryMaxBytes", most("memory")),
    };
  });
