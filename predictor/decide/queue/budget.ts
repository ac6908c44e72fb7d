import type { Reason } from "@tradewind/core/contract/reason.ts";
import { shareProportionally } from "./share.ts";
import type { Claim } from "./share.ts";
import type { DecisionContext, Observation } from "../facts/observation.ts";
import { namedServices } from "../facts/reasons.ts";
import { bounded } from "../facts/target.ts";

/** A pool of pods shared out. */
export interface Sharing {
  readonly replicas: ReadonlyMap<string, number>;
  readonly reason: Reason;
}

/** No service gives away more than this share of its pods in one window. */
const KEPT_SHARE = 0.5;

/**
 * Shares a fixed number of pods in proportion to the virtual queues, above each service's reactive need and within its
 * bounds. A service whose queue is not known, or not all of it, keeps its pods, and they count. Pods move only for a reason: the pool is not
 * fully used or overdrawn, a reactive need is not met, or the objective is missed while all pods serve.
 * @param missed the objective is missed clearly enough to act
 */
export function shareBudget(
  { settings }: DecisionContext,
  observations: readonly Observation[],
  total: number,
  missed: boolean,
): Sharing {
  const now = new Map(observations.map((one) => [one.service, bounded(one, one.baseReplicas)]));
  const spent = [...now.values()].reduce((sum, replicas) => sum + replicas, 0);
  const short = observations.some((one) => (one.need ?? 0) > one.baseReplicas);
  const settling = observations.filter((one) => one.settling || one.unproven);
  const budget = { code: "budget", budgetReplicas: total } as const;
  if (spent === total && !short && !(missed && settling.length === 0)) {
    const reason = missed ? ({ code: "replicas-starting", ...namedServices(settling) } as const) : budget;
    return { replicas: now, reason };
  }
  const isKnown = ({ queue, window }: Observation): boolean =>
    queue?.complete === true && window?.missing === undefined;
  const known = observations.filter(isKnown);
  const pinned = observations.filter((one) => !isKnown(one));
  const left = total - pinned.reduce((sum, { service }) => sum + (now.get(service) ?? 0), 0);
  const shared = shareProportionally(claimsWithin(known, left, settings.needGrowthLimit), left);
  const replicas = new Map([...now, ...shared]);
  const used = [...replicas.values()].reduce((sum, count) => sum + count, 0);
  return { replicas, reason: { ...budget, ...(used > total && { overReplicas: used - total }) } };
}

/** Claims whose minima fit into `total`: the reactive needs when they fit, else what of them is left above the bounds. */
function claimsWithin(
  observations: readonly Observation[],
  total: number,
  growthLimit: number,
): readonly Claim[] {
  const bounds = observations.map((observation) => {
    const { service, baseReplicas, need, queue, spec } = observation;
    const kept = Math.max(need ?? baseReplicas, Math.ceil(KEPT_SHARE * baseReplicas));
    const min = bounded(observation, kept);
    const soon = Math.ceil(growthLimit * Math.max(1, baseReplicas));
    return {
      name: service,
      weight: queue?.virtualQueue ?? 0,
      least: bounded(observation, 0),
      min,
      soon: Math.max(min, Math.min(spec.maxReplicas, soon)),
      most: Math.max(min, spec.maxReplicas),
    };
  });
  if (bounds.reduce((sum, { min }) => sum + min, 0) > total) {
    return bounds.map(({ name, least, min }) => ({ name, weight: min - least, min: least, max: min }));
  }
  const soonEnough = bounds.reduce((sum, { soon }) => sum + soon, 0) >= total;
  return bounds.map(({ name, weight, min, soon, most }) => ({
    name,
    weight,
    min,
    max: soonEnough ? soon : most,
  }));
}
