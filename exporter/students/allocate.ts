import type { Allocation, Bounds } from "@tradewind/core/contract/plan.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { StudentActions } from "./student.ts";

/** Between these a student keeps what is. DRPC, Alg. 2. */
const ACTED_ON = 0.5;
/** Steps of a container's size at an action of 1. */
const MOST_SIZE_STEPS = 2;
/**
 * Shares of its CPU that a replica is left to use in a silence: beyond the first, replicas are added whatever students say; students add
 * no more than the second needs. Fuller than a predictor would have it, since without one nobody removes for five minutes what was
 * added in vain (docs/students.md has the figures).
 */
export const SILENT_UTILISATION = { reactive: 0.9, students: 0.85 } as const;
/** At most this many times the pods that were measured are asked for at once, as there. */
const NEED_GROWTH = 3;

/** What a silence began with, what has been decided since, and what may be. */
export interface Silence {
  /** The last decision of a planner: nothing goes below it. */
  readonly planned: Allocation;
  readonly current: Allocation;
  readonly bounds: Bounds;
  readonly limits: Pick<GuardLimits, "growRatio" | "growReplicas">;
  /** Students add no replicas beyond these. */
  readonly studentsMost: number;
}

/** Most replicas that a silence may come to: as far as the guard lets one plan go. One that is silent does no more than one that errs. */
export function mostReplicas({ bounds, limits, planned }: Omit<Silence, "studentsMost">): number {
  const most = Math.floor(limits.growRatio * planned.replicas) + limits.growReplicas;
  return Math.max(planned.replicas, Math.min(most, bounds.maxReplicas));
}

/** CPU in use, and the pods that it was read of. */
export interface CpuUse {
  readonly cores: number;
  readonly podCores: number;
  readonly pods: number;
}

/** Replicas that the CPU in use needs when each is left to use this share of its own. At least 1. */
export function neededReplicas({ cores, podCores, pods: podsMeasured }: CpuUse, utilisation: number): number {
  const need = Math.max(1, Math.ceil(cores / (podCores * utilisation) - 1e-6));
  return Math.min(need, Math.max(podsMeasured + 1, Math.floor(podsMeasured * NEED_GROWTH)));
}

/**
 * What a student makes of the sizes in force (DRPC, Alg. 2). It may add, and remove only what was added since the silence began.
 * An action of 1 doubles the replicas; less adds less, and at least one. One replica or one step of a size goes at a time.
 */
export function studentAllocation(actions: StudentActions, silence: Silence): Allocation {
  const { bounds, current, limits, planned } = silence;
  const size = (
    action: number,
    part: "cpuCores" | "memoryBytes",
    step: number | undefined,
    max: number,
  ): Partial<Allocation> => {
    const [now, least] = [current[part], planned[part]];
    if (now === undefined || least === undefined || step === undefined)
      return now === undefined ? {} : { [part]: now };
    const most = Math.max(least, Math.min(max, least * limits.growRatio));
    return { [part]: within(now + step * sizeSteps(action), least, most) };
  };
  const most = Math.min(mostReplicas(silence), Math.max(current.replicas, silence.studentsMost));
  return {
    replicas: within(
      current.replicas + replicaSteps(actions.replicas, current.replicas),
      planned.replicas,
      most,
    ),
    ...size(actions.cpu, "cpuCores", bounds.cpuStepCores, bounds.cpuMaxCores),
    ...size(actions.memory, "memoryBytes", bounds.memoryStepBytes, bounds.memoryMaxBytes),
  };
}

function replicaSteps(action: number, replicas: number): number {
  if (action > ACTED_ON) return Math.max(1, Math.round((2 * action - 1) * replicas));
  return action < -ACTED_ON ? -1 : 0;
}

function sizeSteps(action: number): number {
  if (action > ACTED_ON) return Math.max(1, Math.round((2 * action - 1) * MOST_SIZE_STEPS));
  return action < -ACTED_ON ? -1 : 0;
}

/** What a student is taught that leads from one number of replicas to another: clear of the threshold, and short of where tanh is flat. */
export function taughtAction(from: number, to: number): number {
  if (to === from) return 0;
  if (to < from) return -TAUGHT_REMOVAL;
  return Math.min(MOST_TAUGHT, Math.max(LEAST_TAUGHT, 0.5 + (to - from) / (2 * Math.max(1, from))));
}

const LEAST_TAUGHT = 0.65;
const MOST_TAUGHT = 0.95;
const TAUGHT_REMOVAL = 0.8;

/** A size that is in force stays in force, even one beyond a bound that came since: the guard judges that. */
function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.max(least, Math.min(value, Math.max(least, most))) : least;
}
