import type { ScaledObject } from "./triggers.ts";

/** What KEDA's operator remembers of one ScaledObject. */
export interface ActivationMemory {
  /** When a trigger was last active; absent before the first time. */
  readonly lastActiveMs?: number;
}

export interface Activation {
  /** Replicas to set through /scale; absent: none of KEDA's business, the HPA decides. */
  readonly replicas?: number;
  readonly memory: ActivationMemory;
}

/**
 * One poll of KEDA's operator: between no replica and the first. Active and at 0: the minimum, at least one. Inactive with a
 * minimum of 0: none, once the cooldown has passed since a trigger was last active, at once when none ever was. A trigger that
 * cannot be read stops the way down and not the way up.
 * @param active what each trigger says; undefined for an error
 */
export function poll(
  { cooldownSeconds, minReplicaCount }: Pick<ScaledObject, "minReplicaCount" | "cooldownSeconds">,
  active: readonly (boolean | undefined)[],
  current: number,
  memory: ActivationMemory,
  nowMs: number,
): Activation {
  if (active.includes(true)) {
    const lastActive = { lastActiveMs: nowMs };
    return current === 0
      ? { replicas: Math.max(1, minReplicaCount), memory: lastActive }
      : { memory: lastActive };
  }
  if (active.includes(undefined) || minReplicaCount > 0 || current === 0) return { memory };
  const { lastActiveMs } = memory;
  const hasCooledDown = lastActiveMs === undefined || nowMs - lastActiveMs >= cooldownSeconds * 1e3;
  return hasCooledDown ? { replicas: 0, memory } : { memory };
}
