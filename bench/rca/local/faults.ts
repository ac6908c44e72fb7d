import type { Rng } from "@tradewind/core/rng.ts";
import type { Fleet } from "@tradewind/local/application/fleet.ts";
import type { Topology } from "@tradewind/local/application/topology.ts";
import { NO_FAULT } from "@tradewind/local/fault/service-fault.ts";
import type { ReplicaFault } from "@tradewind/local/fault/service-fault.ts";

/** What is injected, as the list names it. */
export const KINDS = ["cpu", "network", "dependency", "limit", "deploy"] as const;
export type Kind = (typeof KINDS)[number];

/** Types of causes that are right for a kind: throttling by a neighbour and by a limit of one's own look alike on a busy machine. */
export const RIGHT_TYPES: Readonly<Record<Kind, readonly string[]>> = {
  cpu: ["C", "L"],
  network: ["N"],
  dependency: ["X"],
  limit: ["C", "L"],
  deploy: ["V"],
};

export interface PlannedFault {
  readonly service: string;
  readonly kind: Kind;
  /** 0 to 1: how strong it is between the least and the most of its kind. */
  readonly strength: number;
}

/** So many faults, kinds in turn, services by chance among those that most requests pass. */
export function plannedFaults(topology: Topology, count: number, rng: Rng): PlannedFault[] {
  const services = topology.services.map(({ name }) => name).filter((name) => name !== topology.entry);
  return Array.from({ length: count }, (_, at) => ({
    service: services[Math.floor(rng() * services.length)] ?? topology.entry,
    kind: KINDS[at % KINDS.length] ?? "cpu",
    strength: rng(),
  }));
}

const between = (low: number, high: number, strength: number): number => low + (high - low) * strength;

/** Brings a fault about. @returns ends it */
export async function inject(
  { kind, service, strength }: PlannedFault,
  fleet: Fleet,
  objectiveSeconds: number,
): Promise<() => Promise<void>> {
  if (kind === "limit") {
    const before = sizeOf(fleet, service);
    await fleet.resize(service, { ...before, cpuCores: before.cpuCores * between(0.3, 0.1, strength) });
    return async () => fleet.resize(service, before);
  }
  if (kind === "deploy") {
    await fleet.deploy(service, replicaFault(kind, strength, objectiveSeconds));
    return async () => fleet.deploy(service, NO_FAULT);
  }
  fleet.disturb(service, replicaFault(kind, strength, objectiveSeconds));
  return async () => fleet.disturb(service, NO_FAULT);
}

function replicaFault(
  kind: Exclude<Kind, "limit">,
  strength: number,
  objectiveSeconds: number,
): ReplicaFault {
  const waitMillis = 1e3 * objectiveSeconds * between(1, 3, strength);
  const faults: Record<typeof kind, Partial<ReplicaFault>> = {
    cpu: { cpuRatio: between(10, 30, strength) },
    deploy: { cpuRatio: between(10, 30, strength) },
    network: { networkMillis: waitMillis },
    dependency: { outsideMillis: waitMillis },
  };
  return { ...NO_FAULT, ...faults[kind] };
}

export function sizeOf(fleet: Fleet, service: string) {
  const state = fleet.states().find(({ definition }) => definition.name === service);
  if (state === undefined) throw new Error(`no service '${service}'`);
  return state.size;
}
