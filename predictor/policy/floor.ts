import type { Observation } from "./observe/observation.ts";
import { bounded, floorReplicas, percent } from "./target.ts";
import type { Target } from "./target.ts";

/** The reactive floor of one service: the replicas that its CPU demand needs, never fewer than now. */
export function floorTarget(observation: Observation): Target {
  const { service, baseReplicas, need, utilisation } = observation;
  if (need === undefined || utilisation === undefined) {
    return heldTarget(observation, `no CPU use and capacity known for '${service}'`);
  }
  const replicas = floorReplicas(observation);
  const use = `CPU demand is ${percent(utilisation)} of what its ready replicas have`;
  if (replicas > baseReplicas && need > baseReplicas) {
    const limited = need > replicas ? `, but ${replicas} is the most allowed` : "";
    return { replicas, policy: "reactive", reason: `${use}: needs ${need}${limited}` };
  }
  return { replicas, policy: "reactive", reason: `${use}: ${need} would do, keeps ${replicas}` };
}

export function heldTarget(observation: Observation, why: string): Target {
  const replicas = bounded(observation, observation.baseReplicas);
  return { replicas, policy: "hold", reason: `${why}: keeps ${replicas}` };
}
