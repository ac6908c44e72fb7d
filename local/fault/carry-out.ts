import type { Fleet } from "../application/fleet.ts";
import { NO_FAULT, REPLICA_FAULTS } from "./service-fault.ts";
import type { ServiceFault } from "./service-fault.ts";

/** CPU of a container under the fault `limit`, over what it had. */
const LIMITED_RATIO = 0.25;

/**
 * Brings a fault about.
 * @returns ends it: a faulty version is rolled back, a limit set to what it was
 * @throws Error when the application has no such service: a mistake of the caller
 */
export async function carryOut({ kind, service }: ServiceFault, fleet: Fleet): Promise<() => Promise<void>> {
  const state = fleet.states().find(({ definition }) => definition.name === service);
  if (state === undefined) throw new Error(`the application has no service '${service}'`);
  if (kind === "limit") {
    const before = state.size;
    await fleet.resize(service, { ...before, cpuCores: LIMITED_RATIO * before.cpuCores });
    return async () => fleet.resize(service, before);
  }
  if (kind === "deploy") {
    await fleet.deploy(service, REPLICA_FAULTS[kind]);
    return async () => fleet.deploy(service, NO_FAULT);
  }
  fleet.disturb(service, REPLICA_FAULTS[kind]);
  return async () => fleet.disturb(service, NO_FAULT);
}
