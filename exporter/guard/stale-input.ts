import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { GuardStep } from "./step.ts";

/**
 * Refuses a wish that rests on an old window or is not made of usable numbers. The last good decision then stays, with
 * its age, until its own time is up.
 */
export const staleInput: GuardStep = {
  name: "stale-input",
  apply: (allocation, { wish, decidedAtMs, staleAfterSeconds }) => {
    const flaw = unusable(allocation);
    if (flaw !== undefined) return { allocation: null, reason: `the wish is unusable: ${flaw}` };
    const ageSeconds = (decidedAtMs - wish.inputs.windowEndMs) / 1e3;
    if (ageSeconds <= staleAfterSeconds) return null;
    return {
      allocation: null,
      reason: `the measurements behind the wish are ${Math.round(ageSeconds)} s old, more than the ${staleAfterSeconds} s allowed`,
    };
  },
};

function unusable({ replicas, cpuCores, memoryBytes }: Allocation): string | undefined {
  if (!Number.isSafeInteger(replicas) || replicas < 0) return `replicas is ${replicas}`;
  if (cpuCores !== undefined && !(Number.isFinite(cpuCores) && cpuCores > 0))
    return `cpuCores is ${cpuCores}`;
  if (memoryBytes !== undefined && !(Number.isFinite(memoryBytes) && memoryBytes > 0)) {
    return `memoryBytes is ${memoryBytes}`;
  }
  return undefined;
}
