import type { Owned } from "../objects/metadata.ts";
import type { Scalable } from "../objects/scalable.ts";

/**
 * The newest program of each workload by its uid, in terms of its pods' revision: that of the ReplicaSet with the highest
 * revision number for a Deployment, which a rollback makes the highest again, and the update revision of a StatefulSet. A Rollout's is
 * the one that is not on trial.
 */
export function newestRevisions(
  workloads: Iterable<Scalable>,
  replicaSets: Iterable<Owned>,
): ReadonlyMap<string, string> {
  const newest = new Map<string, { readonly revision: string; readonly number: number }>();
  for (const { owner, revision, revisionNumber } of replicaSets) {
    if (owner === undefined || revision === undefined || Number.isNaN(revisionNumber)) continue;
    const before = newest.get(owner.uid);
    if (before === undefined || revisionNumber > before.number)
      newest.set(owner.uid, { revision, number: revisionNumber });
  }
  const revisions = new Map<string, string>();
  for (const { stableRevision, uid, updateRevision } of workloads) {
    const revision = stableRevision ?? newest.get(uid)?.revision ?? updateRevision;
    if (revision !== undefined && revision !== "") revisions.set(uid, revision);
  }
  return revisions;
}
