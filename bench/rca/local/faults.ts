import type { Rng } from "@tradewind/core/values/rng.ts";
import type { Fleet } from "@tradewind/local/application/fleet.ts";
import type { Topology } from "@tradewind/local/application/topology.ts";
import { FAULT_KINDS, NO_FAULT } from "@tradewind/local/application/service-fault.ts";
import type {
  FaultEffect,
  FaultKind,
  ReplicaFault,
  ServiceFault,
} from "@tradewind/local/application/service-fault.ts";

/** Types of causes that are right for a kind: throttling by a neighbour and by a limit of one's own look alike on a busy machine. */
export const RIGHT_TYPES: Readonly<Record<FaultKind, readonly string[]>> = {
  cpu: ["C", "L"],
  network: ["N"],
  dependency: ["X"],
  errors: ["X"],
  limit: ["C", "L"],
  deploy: ["V"],
};

export interface PlannedFault extends ServiceFault {
  /** 0 to 1: how strong it is between the least and the most of its kind. */
  readonly strength: number;
}

/** So many faults, kinds in turn, services by chance among those that most requests pass. */
export function plannedFaults(topology: Topology, count: number, rng: Rng): PlannedFault[] {
  const services = topology.services.map(({ name }) => name).filter((name) => name !== topology.entry);
  return Array.from({ length: count }, (_, at) => ({
    service: services[Math.floor(rng() * services.length)] ?? topology.entry,
    kind: FAULT_KINDS[at % FAULT_KINDS.length] ?? "cpu",
    strength: rng(),
  }));
}

const between = (low: number, high: number, strength: number): number => low + (high - low) * strength;

/** What a fault of this strength does. */
export function effectOf({ kind, strength }: PlannedFault, objectiveSeconds: number): FaultEffect {
  const waitMillis = 1e3 * objectiveSeconds * between(1, 3, strength);
  const faults: Record<FaultKind, Partial<ReplicaFault>> = {
    cpu: { cpuRatio: between(10, 30, strength) },
    deploy: { cpuRatio: between(10, 30, strength) },
    network: { networkMillis: waitMillis },
    dependency: { outsideMillis: waitMillis },
    errors: { failedRatio: between(0.2, 0.6, strength) },
    limit: {},
  };
  return { replica: { ...NO_FAULT, ...faults[kind] }, cpuLimitRatio: between(0.3, 0.1, strength) };
}

export function sizeOf(fleet: Fleet, service: string) {
  const state = fleet.states().find(({ definition }) => definition.name === service);
  if (state === undefined) throw new Error(`no service '${service}'`);
  return state.size;
}
