import type { Observation } from "./observation.ts";
import type { PolicySettings } from "./settings.ts";
import { cpuReason, replicasReason } from "./reasons.ts";
import { bounded, floorReplicas } from "./target.ts";
import type { Target } from "./target.ts";

/** The reactive floor of one service: the replicas that its CPU demand needs, never fewer than now. */
export function floorTarget(
  observation: Observation,
  settings: Pick<PolicySettings, "targetUtilisation">,
): Target {
  const cpu = cpuReason(observation, settings);
  if (cpu.code === "cpu-unknown") return heldTarget(observation);
  const { need = 0 } = observation;
  const replicas = floorReplicas(observation);
  const move = replicasReason(observation, replicas, need > replicas ? need : undefined);
  return { replicas, policy: "reactive", reasons: [cpu, move] };
}

/** Of a service whose CPU demand is not known. */
export function heldTarget(observation: Observation): Target {
  const replicas = bounded(observation, observation.baseReplicas);
  return {
    replicas,
    policy: "hold",
    reasons: [{ code: "cpu-unknown" }, replicasReason(observation, replicas)],
  };
}
