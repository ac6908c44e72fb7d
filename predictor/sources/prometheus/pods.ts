import type { Labels } from "./api.ts";
import { deploymentOfPod } from "./pod-labels.ts";
import type { RateSeries } from "./rates.ts";

/** Which workload a pod belongs to: `namespace/pod` to workload. */
export interface PodOwner {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly node: string | undefined;
}

/**
 * Follows `kube_pod_info` (pod, created by) and `kube_replicaset_owner` (replica set, owned by) of kube-state-metrics.
 * Pods of jobs, daemon sets and bare pods have no replicas to recommend and are left out.
 */
export function podOwners(
  podInfo: readonly RateSeries[],
  replicaSets: readonly RateSeries[],
): Map<string, PodOwner> {
  const deployments = new Map<string, string>();
  for (const { labels } of replicaSets) {
    const { namespace, replicaset, owner_kind: kind, owner_name: name } = labels;
    if (kind === "Deployment" && name !== undefined) deployments.set(`${namespace}/${replicaset}`, name);
  }
  const owners = new Map<string, PodOwner>();
  for (const { labels } of podInfo) {
    const owner = ownerOf(labels, deployments);
    if (owner !== undefined) owners.set(podKey(labels), owner);
  }
  return owners;
}

/**
 * Deployments of pods by the names of these, for namespaces of which kube-state-metrics tells no pod.
 * @param told namespaces of which it does
 */
export function ownersByName(
  usage: readonly RateSeries[],
  told: ReadonlySet<string | undefined>,
): Map<string, PodOwner> {
  const owners = new Map<string, PodOwner>();
  for (const { labels } of usage) {
    const { namespace, pod = "" } = labels;
    const name = deploymentOfPod(pod);
    // Between a DaemonSet's name and its pod's suffix stands no hash, which has digits.
    if (namespace === undefined || name === undefined || told.has(namespace)) continue;
    if (/\d/.test(pod.slice(name.length, pod.lastIndexOf("-"))))
      owners.set(podKey(labels), { namespace, kind: "Deployment", name, node: undefined });
  }
  return owners;
}

function ownerOf(labels: Labels, deployments: ReadonlyMap<string, string>): PodOwner | undefined {
  const { namespace, created_by_kind: kind, created_by_name: name, node } = labels;
  if (namespace === undefined || name === undefined) return undefined;
  if (kind === "StatefulSet") return { namespace, kind, name, node };
  const deployment = kind === "ReplicaSet" ? deployments.get(`${namespace}/${name}`) : undefined;
  return deployment === undefined ? undefined : { namespace, kind: "Deployment", name: deployment, node };
}

export const podKey = (labels: Labels): string => `${labels["namespace"] ?? ""}/${labels["pod"] ?? ""}`;
