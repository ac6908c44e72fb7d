import { selects } from "../objects/label-selector.ts";
import type { LabelSelector } from "../objects/label-selector.ts";
import type { Owned } from "../objects/metadata.ts";
import type { Pod } from "../objects/pod.ts";
import type { Scalable } from "../objects/scalable.ts";

const FINISHED = new Set(["Succeeded", "Failed"]);

/**
 * Pods by the uid of the workload that runs them; finished pods belong to none, and those that the workload does not count among its
 * replicas. A ReplicaSet that is not known (yet) is
 * taken to be its Deployment's by name: `cart-5d4f8c7b9` is `cart`'s. An owner of another namespace is none, as for Kubernetes itself:
 * who writes a pod writes its `ownerReferences`.
 */
export function podsByWorkload(
  pods: Iterable<Pod>,
  replicaSets: Iterable<Owned>,
  workloads: readonly Scalable[],
): ReadonlyMap<string, readonly Pod[]> {
  const replicaSetByUid = new Map<string, Owned>();
  for (const each of replicaSets) replicaSetByUid.set(inNamespace(each.namespace, each.uid), each);
  const byUid = new Map<string, Pod[]>();
  const uids = new Map<string, string>();
  const selectors = new Map<string, LabelSelector>();
  const foreign = workloads.filter(
    ({ apiVersion, podSelector }) => apiVersion !== undefined && podSelector !== undefined,
  );
  for (const { uid, kind, namespace, name, podSelector } of workloads) {
    byUid.set(uid, []);
    uids.set(inNamespace(namespace, uid), uid);
    uids.set(`${kind}/${namespace}/${name}`, uid);
    if (podSelector !== undefined) selectors.set(uid, podSelector);
  }
  for (const pod of pods) {
    if (pod.owner === undefined || FINISHED.has(pod.phase)) continue;
    const uid = workloadOf(pod, replicaSetByUid, uids) ?? chosenBy(pod, foreign);
    const selector = selectors.get(uid ?? "");
    if (uid !== undefined && (selector === undefined || selects(selector, pod.labels)))
      byUid.get(uid)?.push(pod);
  }
  for (const each of byUid.values()) each.sort((a, b) => (a.name < b.name ? -1 : 1));
  return byUid;
}

/** Kinds that were found by discovery may put others between themselves and their pods: their selector says which are theirs. */
const chosenBy = ({ labels, namespace }: Pod, foreign: readonly Scalable[]): string | undefined =>
  foreign.find(
    (each) =>
      each.namespace === namespace && each.podSelector !== undefined && selects(each.podSelector, labels),
  )?.uid;

function workloadOf(
  { namespace, owner }: Pod,
  replicaSets: ReadonlyMap<string, Owned>,
  uids: ReadonlyMap<string, string>,
): string | undefined {
  if (owner === undefined) return undefined;
  const uidHere = (uid: string | undefined): string | undefined =>
    uids.get(inNamespace(namespace, uid ?? ""));
  if (owner.kind !== "ReplicaSet") return uidHere(owner.uid);
  const known = replicaSets.get(inNamespace(namespace, owner.uid));
  if (known !== undefined) return uidHere(known.owner?.uid);
  return uids.get(`Deployment/${namespace}/${owner.name.replace(/-[a-z0-9]+$/, "")}`);
}

const inNamespace = (namespace: string, uid: string): string => `${namespace} ${uid}`;
