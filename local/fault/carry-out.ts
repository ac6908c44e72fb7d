import type { Fleet } from "../application/fleet.ts";
import { FAULT_EFFECTS, NO_FAULT } from "../application/service-fault.ts";
import type { FaultEffect, ServiceFault } from "../application/service-fault.ts";

/** What a fault is carried out on. */
export type FaultyFleet = Pick<Fleet, "states" | "resize" | "disturb" | "deploy">;

/**
 * Brings a fault about. A deploy takes seconds: each replica is replaced by one that has started.
 * @param effect how much it does
 * @returns ends it: a faulty version is rolled back, a limit set to what it was
 * @throws Error when the application has no such service: a mistake of the caller
 */
export async function carryOut(
  { kind, service }: ServiceFault,
  fleet: FaultyFleet,
  { cpuLimitRatio, replica }: FaultEffect = FAULT_EFFECTS[kind],
): Promise<() => Promise<void>> {
  const state = fleet.states().find(({ definition }) => definition.name === service);
  if (state === undefined) throw new Error(`the application has no service '${service}'`);
  if (kind === "limit") {
    const before = state.size;
    await fleet.resize(service, { ...before, cpuCores: cpuLimitRatio * before.cpuCores });
    return async () => fleet.resize(service, before);
  }
  if (kind === "deploy") {
    await fleet.deploy(service, replica);
    return async () => fleet.deploy(service, NO_FAULT);
  }
  fleet.disturb(service, replica);
  return async () => fleet.disturb(service, NO_FAULT);
}
