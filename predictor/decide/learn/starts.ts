import type { Observation } from "../../facts/observation.ts";
import type { Targets } from "../../facts/target.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";

/** Weight of the newest start in what is learnt of starts: there are few of them. */
export const START_SHARE = 0.25;

/**
 * A start that is over counts with its length; one that takes longer than any before says so at once, unless it waits for room on a
 * node: nobody knows when that comes.
 * @param mostSeconds a start that takes longer is none: the cluster is full
 */
export function startSecondsAfter(
  { services: before, startSeconds }: Pick<CostMemory, "services" | "startSeconds">,
  after: readonly ServiceModelMemory[],
  { endMs, mostSeconds }: { readonly endMs: number; readonly mostSeconds: number },
  unscheduled: ReadonlySet<string> = new Set(),
): number {
  const still = new Set(after.flatMap(({ rising, service }) => (rising === undefined ? [] : [service])));
  let seconds = startSeconds;
  for (const { rising, service } of before) {
    if (rising === undefined) continue;
    const elapsed = Math.min((endMs - rising.sinceMs) / 1e3, mostSeconds);
    if (still.has(service) && unscheduled.has(service)) continue;
    if (still.has(service)) seconds = Math.max(seconds, elapsed);
    else seconds += START_SHARE * (elapsed - seconds);
  }
  return seconds;
}

/**
 * Notes the services for which more replicas have been decided on than run or are asked for: those that the platform has not taken away
 * yet need no start.
 */
export function withRises(
  services: readonly ServiceModelMemory[],
  observations: readonly Observation[],
  targets: Targets,
  endMs: number,
): ServiceModelMemory[] {
  const byName = new Map(observations.map((each) => [each.service, each]));
  return services.map((each) => {
    const { rising, ...rest } = each;
    const replicas = targets.get(each.service)?.replicas ?? 0;
    const { baseReplicas = replicas, readyReplicas, window } = byName.get(each.service) ?? {};
    if (replicas > baseReplicas && readyReplicas !== undefined) {
      const running = Math.max(readyReplicas, window?.replicasWanted ?? 0);
      return rising === undefined && replicas > running
        ? { ...rest, rising: { sinceMs: endMs, replicas } }
        : each;
    }
    return rising === undefined || replicas < rising.replicas ? rest : each;
  });
}
