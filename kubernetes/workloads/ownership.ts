import type { Owned } from "../objects/metadata.ts";
import type { Pod } from "../objects/pod.ts";
import type { Scalable } from "../objects/scalable.ts";

const FINISHED = new Set(["Succeeded", "Failed"]);

/**
 * Pods by the uid of the workload that runs them; finished pods belong to none. A ReplicaSet that is not known (yet) is
 * taken to be its Deployment's by name: `cart-5d4f8c7b9` is `cart`'s.
 */
export function podsByWorkload(
  pods: Iterable<Pod>,
  replicaSets: Iterable<Owned>,
  workloads: Iterable<Scalable>,
): ReadonlyMap<string, readonly Pod[]> {
  const replicaSetByUid = new Map<string, Owned>();
  for (const each of replicaSets) replicaSetByUid.set(each.uid, each);
  const byUid = new Map<string, Pod[]>();
  const uidByName = new Map<string, string>();
  for (const { uid, kind, namespace, name } of workloads) {
    byUid.set(uid, []);
    uidByName.set(`${kind}/${namespace}/${name}`, uid);
  }
  for (const pod of pods) {
    if (pod.owner === undefined || FINISHED.has(pod.phase)) continue;
    const uid = workloadOf(pod, replicaSetByUid, uidByName);
    if (uid !== undefined) byUid.get(uid)?.push(pod);
  }
  for (const each of byUid.values()) each.sort((a, b) => (a.name < b.name ? -1 : 1));
  return byUid;
}

function workloadOf(
  { namespace, owner }: Pod,
  replicaSets: ReadonlyMap<string, Owned>,
  uidByName: ReadonlyMap<string, string>,
): string | undefined {
  if (owner === undefined) return undefined;
  if (owner.kind !== "ReplicaSet") return owner.uid;
  const known = replicaSets.get(owner.uid);
  if (known !== undefined) return known.owner?.uid;
  return uidByName.get(`Deployment/${namespace}/${owner.name.replace(/-[a-z0-9]+$/, "")}`);
}
