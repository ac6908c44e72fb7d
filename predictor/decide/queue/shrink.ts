import type { DecisionContext, Observation } from "../facts/observation.ts";
import type { Verdict } from "../facts/verdict.ts";
import { bounded, totalBase } from "../facts/target.ts";

/**
 * Takes pods away, one from each of the services with the least queue per pod, at most `shrinkStep` of all pods. A pod
 * goes only when the reactive need at the lower shrink utilisation is still met without it and when the tail, were all
 * of it due to that service, would stay under the limit: processor sharing stretches it by `(1 − ρ)/(1 − ρ′)`. A service
 * with any of this missing keeps its pods.
 * @returns replicas of the services that give pods away
 */
export function shrinkInCalm(
  { settings }: DecisionContext,
  observations: readonly Observation[],
  verdict: Verdict,
): ReadonlyMap<string, number> {
  let budget = Math.ceil(settings.shrinkStep * totalBase(observations));
  let predicted = verdict.worstSeverity ?? Number.POSITIVE_INFINITY;
  const replicas = new Map<string, number>();
  const candidates = observations
    .filter(
      ({ queue, window }) =>
        queue?.complete === true && window?.replicasWanted !== undefined && window.missing === undefined,
    )
    .sort((a, b) => queuePerPod(a) - queuePerPod(b) || (a.service < b.service ? -1 : 1));
  for (const observation of candidates) {
    if (budget <= 0) break;
    const step = stepDown(observation, settings.shrinkStep, budget);
    const stretch = stretchAt(observation, step.replicas);
    if (stretch === undefined || predicted * stretch > settings.predictedRatioLimit) continue;
    predicted *= Math.max(1, stretch);
    replicas.set(observation.service, step.replicas);
    budget -= step.pods;
  }
  return replicas;
}

/**
 * The next size down. Where the platform never followed the last wish up, the part it did not follow is dropped first:
 * no pod goes for it.
 */
function stepDown(
  { baseReplicas, window, readyReplicas, shrinkNeed }: Observation,
  share: number,
  budget: number,
): { readonly replicas: number; readonly pods: number } {
  const running = Math.max(window?.replicasWanted ?? baseReplicas, readyReplicas ?? 0);
  const unused = Math.max(running, shrinkNeed ?? baseReplicas);
  if (unused < baseReplicas) return { replicas: unused, pods: 0 };
  const pods = Math.min(budget, Math.max(1, Math.floor(share * baseReplicas)));
  return { replicas: baseReplicas - pods, pods };
}

/** A wish may be at most this share under what serves: the platform may be slow to follow, and calm proves no more. */
const UNPROVEN_SHARE = 0.25;

/** Factor by which latency may grow with `next` replicas; undefined when the service may not have so few. */
function stretchAt(observation: Observation, next: number): number | undefined {
  const { utilisation, readyReplicas, shrinkNeed } = observation;
  if (utilisation === undefined || readyReplicas === undefined || shrinkNeed === undefined) return undefined;
  if (next < shrinkNeed || bounded(observation, next) !== next || next < 1) return undefined;
  if (next < readyReplicas - Math.max(1, Math.floor(UNPROVEN_SHARE * readyReplicas))) return undefined;
  const after = (utilisation * readyReplicas) / next;
  return after >= 1 || utilisation >= 1 ? undefined : (1 - utilisation) / (1 - after);
}

function queuePerPod({ queue, baseReplicas }: Observation): number {
  return (queue?.virtualQueue ?? 0) / Math.max(1, baseReplicas);
}
