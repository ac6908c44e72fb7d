import type { Window } from "@tradewind/core/contract/window.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import type { Observation } from "../../facts/observation.ts";
import type { Targets } from "../../facts/target.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";

type Rising = NonNullable<ServiceModelMemory["rising"]>;

/** Weight of the newest start in what is learnt of starts: there are few of them. */
export const START_SHARE = 0.25;

/** A start that takes longer, in seconds, is none: the cluster is full, or nobody carries out what is decided. */
export const mostStartSeconds = ({ standSeconds }: Pick<CostSettings, "standSeconds">): number =>
  2 * standSeconds;

/** The models without notes of replicas that start: after windows that nobody saw it is not known when those served. */
export const withoutRises = (services: readonly ServiceModelMemory[]): ServiceModelMemory[] =>
  services.map(({ rising: _rising, ...rest }) => rest);

/** Whether the platform asks for the replicas that were decided on. */
const isAsked = ({ replicas }: Rising, window: Window | undefined): boolean =>
  (window?.replicasWanted ?? 0) >= replicas;

/**
 * The note of replicas that start, after one more window: gone once so many are ready, or where the platform has not asked for them in
 * all the time that a start may take. What it takes up later is no long start.
 * @param endMs of the window
 */
export function risingAfter(
  rising: Rising | undefined,
  window: Window | undefined,
  { endMs, mostSeconds }: { readonly endMs: number; readonly mostSeconds: number },
): Rising | undefined {
  if (rising === undefined || (window?.replicasReady ?? 0) >= rising.replicas) return undefined;
  return endMs - rising.sinceMs > 1e3 * mostSeconds && !isAsked(rising, window) ? undefined : rising;
}

/**
 * A start that is over counts with its length; one that takes longer than any before says so at once, if the platform asks for those
 * replicas and none of them waits for room on a node: nobody knows when that comes.
 * @param mostSeconds one that goes on longer counts as so long, and one that took longer teaches nothing
 */
export function startSecondsAfter(
  { services: before, startSeconds }: Pick<CostMemory, "services" | "startSeconds">,
  after: readonly ServiceModelMemory[],
  { endMs, mostSeconds }: { readonly endMs: number; readonly mostSeconds: number },
  observations: readonly Observation[],
): number {
  const still = new Set(after.flatMap(({ rising, service }) => (rising === undefined ? [] : [service])));
  const byName = new Map(observations.map((each) => [each.service, each]));
  let seconds = startSeconds;
  for (const { rising, service } of before) {
    if (rising === undefined) continue;
    const elapsed = (endMs - rising.sinceMs) / 1e3;
    const { unscheduled = 0, window } = byName.get(service) ?? {};
    if (!still.has(service)) seconds += elapsed > mostSeconds ? 0 : START_SHARE * (elapsed - seconds);
    else if (unscheduled === 0 && isAsked(rising, window))
      seconds = Math.max(seconds, Math.min(elapsed, mostSeconds));
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
