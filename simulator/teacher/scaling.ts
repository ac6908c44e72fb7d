import type { Allocation } from "@tradewind/core/contract/plan.ts";

/** What an agent gives for one deployment, each in [-1, 1]: CPU size, memory size, replicas. */
export type Actions = readonly [cpu: number, memory: number, replicas: number];

export interface ScalingSteps {
  readonly cpuCores: number;
  readonly memoryBytes: number;
  /** The service may be switched off: its least number of replicas is 0, not 1. */
  readonly brownout?: boolean;
}

/** Beyond this an action is acted on. */
const ACTED_ON = 0.5;
/** Services' own steps that make one step of the algorithm. */
const STEPS_AT_ONCE = 2;

/**
 * DRPC, Alg. 2: each of the three is changed where its action is beyond ±0.5, sizes in proportion. Line 9 is printed as "below 0";
 * meant is a floor of 1 replica without brownout and 0 with it. An absent size stays absent.
 */
export function scaled([cpu, memory, replicas]: Actions, now: Allocation, steps: ScalingSteps): Allocation {
  const size = (action: number, part: "cpuCores" | "memoryBytes"): Partial<Allocation> => {
    const had = now[part];
    if (had === undefined) return {};
    const step = steps[part] * STEPS_AT_ONCE;
    const moved = had + Math.round((clipped(action) * step) / steps[part]) * steps[part];
    return { [part]: Math.abs(action) > ACTED_ON ? Math.max(steps[part], moved) : had };
  };
  const change = Math.abs(replicas) > ACTED_ON ? Math.round(clipped(replicas)) : 0;
  const isAllowed = now.replicas + change >= (steps.brownout === true ? 0 : 1);
  return {
    replicas: isAllowed ? now.replicas + change : now.replicas,
    ...size(cpu, "cpuCores"),
    ...size(memory, "memoryBytes"),
  };
}

const clipped = (action: number): number => Math.max(-1, Math.min(1, action));

/** The action that moves a size towards a target as {@link scaled} does: one step, or as many as it takes at once. */
export function sizeAction(target: number | undefined, size: number, step: number): number {
  const steps = target === undefined ? 0 : Math.round((target - size) / step);
  if (steps === 0) return 0;
  return Math.sign(steps) * (Math.abs(steps) === 1 ? 0.6 : 0.8);
}
