import type { Allocation, Bounds } from "@tradewind/core/contract/plan.ts";
import type { GuardLimits } from "@tradewind/core/contract/recommendation.ts";
import type { StudentActions } from "@tradewind/core/students/student.ts";

/** Between these a student keeps what is. DRPC, Alg. 2. */
const ACTED_ON = 0.5;
/** Steps of a container's size at an action of 1. */
const MOST_SIZE_STEPS = 2;
/**
 * Shares of its CPU that a replica is left to use in a silence: beyond the first, replicas are added whatever students say; students add
 * no more than the second needs, of replicas, of CPU and of memory. Fuller than a predictor would have it, since without one nobody
 * removes for five minutes what was added in vain (docs/students.md has the figures).
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
  /** Students add nothing beyond what this needs. */
  readonly use: ResourceUse;
}

/** What all replicas of a service use together: CPU as demand has it, memory in use. */
export interface ResourceUse {
  readonly cores: number;
  /** CPU that a replica has, cores. */
  readonly podCores: number;
  /** Those that were measured. */
  readonly pods: number;
  /** Mean of a replica; undefined where it was not read. */
  readonly memoryBytes: number | undefined;
}

/** Most replicas that a silence may come to: as far as the guard lets one plan go. One that is silent does no more than one that errs. */
export function mostReplicas({ bounds, limits, planned }: Omit<Silence, "use">): number {
  const most = Math.floor(limits.growRatio * planned.replicas) + limits.growReplicas;
  return Math.max(planned.replicas, Math.min(most, bounds.maxReplicas));
}

/** Replicas that the CPU in use needs when each is left to use this share of its own. At least 1. */
export function neededReplicas(
  { cores, podCores, pods: podsMeasured }: Omit<ResourceUse, "memoryBytes">,
  utilisation: number,
): number {
  const need = Math.max(1, Math.ceil(cores / (podCores * utilisation) - 1e-6));
  return Math.min(need, Math.max(podsMeasured + 1, Math.floor(podsMeasured * NEED_GROWTH)));
}

/**
 * What a student makes of the sizes in force (DRPC, Alg. 2). It may add, and remove only what was added since the silence began.
 * An action of 1 doubles the replicas; less adds less, and at least one. One replica or one step of a size goes at a time. Containers
 * grow only by what the replicas, those added at the same moment included, leave uncovered: one need is not met twice.
 */
export function studentAllocation(actions: StudentActions, silence: Silence): Allocation {
  const { current, planned, use } = silence;
  const needed = neededReplicas(
    { ...use, podCores: Math.max(use.podCores, current.cpuCores ?? 0) },
    SILENT_UTILISATION.students,
  );
  const most = Math.min(mostReplicas(silence), Math.max(current.replicas, needed));
  const replicas = within(
    current.replicas + replicaSteps(actions.replicas, current.replicas),
    planned.replicas,
    most,
  );
  const cores = use.cores / (Math.max(1, replicas) * SILENT_UTILISATION.students);
  const bytes = (use.memoryBytes ?? 0) / SILENT_UTILISATION.students;
  return {
    replicas,
    ...sizeAfter(silence, { part: "cpuCores", action: actions.cpu, needed: cores }),
    ...sizeAfter(silence, { part: "memoryBytes", action: actions.memory, needed: bytes }),
  };
}

/** One size of a container after an action: no larger than the first step that meets the need, unless it is so already. */
function sizeAfter(
  { bounds, current, limits, planned }: Silence,
  { action, needed, part }: SizeChange,
): Partial<Allocation> {
  const [now, least] = [current[part], planned[part]];
  const [step, max] =
    part === "cpuCores"
      ? [bounds.cpuStepCores, bounds.cpuMaxCores]
      : [bounds.memoryStepBytes, bounds.memoryMaxBytes];
  if (now === undefined) return {};
  if (least === undefined || step === undefined) return { [part]: now };
  const most = Math.max(least, Math.min(max, least * limits.growRatio));
  const useful = Math.ceil((needed - now) / step - 1e-6);
  const steps = Math.min(sizeSteps(action), Number.isFinite(useful) ? Math.max(0, useful) : 0);
  return { [part]: within(now + step * steps, least, most) };
}

interface SizeChange {
  readonly part: "cpuCores" | "memoryBytes";
  readonly action: number;
  /** What a container needs for its use to be a healthy share of it. */
  readonly needed: number;
}

function replicaSteps(action: number, replicas: number): number {
  if (action > ACTED_ON) return Math.max(1, Math.round((2 * action - 1) * replicas));
  return action < -ACTED_ON ? -1 : 0;
}

function sizeSteps(action: number): number {
  if (action > ACTED_ON) return Math.max(1, Math.round((2 * action - 1) * MOST_SIZE_STEPS));
  return action < -ACTED_ON ? -1 : 0;
}

/** A size that is in force stays in force, even one beyond a bound that came since: the guard judges that. */
function within(value: number, least: number, most: number): number {
  return Number.isFinite(value) ? Math.max(least, Math.min(value, Math.max(least, most))) : least;
}
