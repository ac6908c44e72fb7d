import type { NodeCapacity } from "@tradewind/core/contract/workload.ts";

const INSTANCE_TYPE = "node.kubernetes.io/instance-type";
/** For classes that no platform names: people set it. */
const OWN_LABEL = "tradewind.dev/node-class";
/** The highest that Kubernetes takes, so that it outweighs how full nodes are. */
const WEIGHT = 100;

/**
 * How pods are made to prefer nodes of a class: a merge patch of the workload with `preferredDuringScheduling` node affinity, so
 * that pods still find a node where the class is full.
 */
export function preferenceOf(
  nodeClass: string,
  nodes: readonly Pick<NodeCapacity, "instanceType">[],
): { readonly label: string; readonly patch: Record<string, unknown> } {
  const label = nodes.some(({ instanceType }) => instanceType === nodeClass) ? INSTANCE_TYPE : OWN_LABEL;
  const term = {
    weight: WEIGHT,
    preference: { matchExpressions: [{ key: label, operator: "In", values: [nodeClass] }] },
  };
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [term] };
  return { label, patch: { spec: { template: { spec: { affinity: { nodeAffinity } } } } } };
}
