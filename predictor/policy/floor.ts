import type { Observation } from "./observe/observation.ts";
import { bounded, floorReplicas, percent } from "./target.ts";
import type { Target, Targets } from "./target.ts";

/** Rung `static`: what the platform wants now, whatever the latency. */
export function keepPlatform(observations: readonly Observation[]): Targets {
  return new Map(
    observations.map(({ service, window, baseReplicas }) => {
      const replicas = window?.replicasWanted ?? window?.replicasReady ?? baseReplicas;
      return [
        service,
        { replicas, policy: "static", reason: `keeps the ${replicas} that the platform wants` },
      ];
    }),
  );
}

/** Rung `hold`: nothing is known, nothing changes. */
export function hold(observations: readonly Observation[], why: string): Targets {
  return new Map(observations.map((observation) => [observation.service, heldTarget(observation, why)]));
}

/** Rung `reactive`: at least the replicas that CPU demand needs; never fewer than now. */
export function reactiveFloor(observations: readonly Observation[]): Targets {
  return new Map(observations.map((observation) => [observation.service, floorTarget(observation)]));
}

/** The reactive floor of one service. */
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
