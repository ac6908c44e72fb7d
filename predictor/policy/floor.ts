import type { Observation } from "./observe/observation.ts";
import type { PolicySettings } from "./settings.ts";
import { bounded, floorReplicas, move, percent } from "./target.ts";
import type { Target } from "./target.ts";

/** The reactive floor of one service: the replicas that its CPU demand needs, never fewer than now. */
export function floorTarget(
  observation: Observation,
  { targetUtilisation }: Pick<PolicySettings, "targetUtilisation">,
): Target {
  const { service, need, utilisation } = observation;
  if (need === undefined || utilisation === undefined) {
    return heldTarget(observation, `no CPU use and capacity known for '${service}'`);
  }
  const replicas = floorReplicas(observation);
  const target = percent(targetUtilisation);
  const demand = `CPU demand is ${percent(utilisation)} of what its ready replicas have, target ${target}`;
  const limited = need > replicas ? ` of ${need} needed` : "";
  const reason = `${demand}: ${move(observation, replicas)}${limited}`;
  return { replicas, policy: "reactive", reason };
}

export function heldTarget(observation: Observation, why: string): Target {
  const replicas = bounded(observation, observation.baseReplicas);
  return { replicas, policy: "hold", reason: `${why}: ${move(observation, replicas)}` };
}
