import { z } from "zod";
import { NodeClassName } from "@tradewind/core/contract/quantity.ts";
import { ListOf } from "./bounded.ts";
import { Identity, StringMap } from "./metadata.ts";
import { Quantity, Resources } from "./quantity.ts";

/** Set by cloud providers. */
const INSTANCE_TYPE = "node.kubernetes.io/instance-type";

/** Conditions of a node, scopes of a quota. */
const MOST_LISTED = 250;

/** A node's room for pods. */
export const Node = z
  .object({
    metadata: z.object({ name: z.string().min(1), labels: StringMap }),
    spec: z.object({ unschedulable: z.boolean().nullish() }).nullish(),
    status: z.object({
      allocatable: Resources.and(z.object({ pods: Quantity.optional() })).nullish(),
      conditions: ListOf(z.object({ type: z.string(), status: z.string() }), MOST_LISTED),
    }),
  })
  .transform(({ metadata, spec, status }) => ({
    name: metadata.name,
    /** Takes new pods. */
    schedulable:
      spec?.unschedulable !== true &&
      status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True"),
    cpuCores: status.allocatable?.cpuCores,
    memoryBytes: status.allocatable?.memoryBytes,
    pods: status.allocatable?.pods,
    instanceType: NodeClassName.safeParse(metadata.labels[INSTANCE_TYPE]).data,
  }));
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
