import type { Window } from "@tradewind/core/contract/window.ts";
import type { CostSettings } from "../../facts/cost-settings.ts";
import type { Observation } from "../../facts/observation.ts";
import type { Targets } from "../../facts/target.ts";
import type { CostMemory, ServiceModelMemory } from "./state.ts";

type Rising = NonNullable<ServiceModelMemory["rising"]>;

/** Weight of the newest start in what is learnt of starts: there are few of them. */
export const START_SHARE = 0.25;

/** Starts longer than this are ignored, seconds: the cluster is full or the decision is not applied. */
export const mostStartSeconds = ({ standSeconds }: Pick<CostSettings, "standSeconds">): number =>
  2 * standSeconds;

/** The models without notes of replicas that start: after missing windows it is not known when they began to serve. */
export const withoutRises = (services: readonly ServiceModelMemory[]): ServiceModelMemory[] =>
  services.map(({ rising: _rising, ...rest }) => rest);

/** Whether the platform asks for the replicas that were decided on. */
const isAsked = ({ replicas }: Rising, window: Window | undefined): boolean =>
  (window?.replicasWanted ?? 0) >= replicas;

/**
 * The model without the note of replicas that start, once that many are ready, or where the platform has not asked for them within the
 * longest start. If it asks later, that is no long start. This is known whatever else is missing.
 * @param endMs of the window
 */
export function withoutStarted(
  model: ServiceModelMemory,
  window: Window | undefined,
  endMs: number,
  settings: CostSettings,
): ServiceModelMemory {
  const { rising, ...withoutRise } = model;
  if (rising === undefined || (window?.replicasReady ?? 0) >= rising.replicas) return withoutRise;
  const isOver = endMs - rising.sinceMs > 1e3 * mostStartSeconds(settings);
  return isOver && !isAsked(rising, window) ? withoutRise : model;
}

/**
 * How long starts take, seconds. A finished start counts with {@link START_SHARE}. One that goes on longer than this raises it at once, if
 * the platform asks for the replicas and none of them waits for a node.
 * @param mostSeconds longest start: one that goes on longer counts with this, and one that took longer does not count
 */
export function startSecondsAfter(
  { services: modelsBefore, startSeconds }: Pick<CostMemory, "services" | "startSeconds">,
  modelsAfter: readonly ServiceModelMemory[],
  { endMs, mostSeconds }: { readonly endMs: number; readonly mostSeconds: number },
  observations: readonly Observation[],
): number {
  const still = new Set(
    modelsAfter.flatMap(({ rising, service }) => (rising === undefined ? [] : [service])),
  );
  const byName = new Map(observations.map((each) => [each.service, each]));
  let seconds = startSeconds;
  for (const { rising, service } of modelsBefore) {
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
 * Notes services of which more replicas were decided on than run or are asked for. Replicas that the platform has not removed yet need no
 * start.
 */
export function withRises(
  services: readonly ServiceModelMemory[],
  observations: readonly Observation[],
  targets: Targets,
  endMs: number,
): ServiceModelMemory[] {
  const byName = new Map(observations.map((each) => [each.service, each]));
  return services.map((model) => {
    const { rising, ...withoutRise } = model;
    const replicas = targets.get(model.service)?.replicas ?? 0;
    const { baseReplicas = replicas, readyReplicas, window } = byName.get(model.service) ?? {};
    if (replicas > baseReplicas && readyReplicas !== undefined) {
      const running = Math.max(readyReplicas, window?.replicasWanted ?? 0);
      return rising === undefined && replicas > running
        ? { ...withoutRise, rising: { sinceMs: endMs, replicas } }
        : model;
    }
    return rising === undefined || replicas < rising.replicas ? withoutRise : model;
  });
}
