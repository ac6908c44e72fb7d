import type { Allocation } from "@tradewind/core/contract/plan.ts";
import type { Reason } from "@tradewind/core/contract/reason.ts";
import type { GuardStep } from "./step.ts";

/**
 * Refuses a proposal that rests on an old window or is not made of usable numbers. The last good decision then stays, with
 * its age, until its own time is up.
 */
export const staleInput: GuardStep = {
  name: "stale-input",
  bindsHeld: true,
  refuse: ({ wish, decidedAtMs, staleAfterSeconds }) => {
    const flaw = unusable(wish.allocation);
    if (flaw !== undefined) return flaw;
    const ageSeconds = (decidedAtMs - wish.inputs.windowEndMs) / 1e3;
    return ageSeconds <= staleAfterSeconds
      ? null
      : { code: "stale-measurements", ageSeconds, limitSeconds: staleAfterSeconds };
  },
  apply: () => null,
};

function unusable({ replicas, cpuCores, memoryBytes }: Allocation): Reason | undefined {
  if (!Number.isSafeInteger(replicas) || replicas < 0) return flawed("replicas", replicas);
  if (cpuCores !== undefined && !isSize(cpuCores)) return flawed("cpuCores", cpuCores);
  if (memoryBytes !== undefined && !isSize(memoryBytes)) return flawed("memoryBytes", memoryBytes);
  return undefined;
}

const isSize = (value: number): boolean => Number.isFinite(value) && value > 0;

const flawed = (field: keyof Allocation, value: number): Reason => ({
  code: "unusable-number",
  field,
  value: String(value),
});
