import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";

/** Number of containers, or cores, by node class. */
export type ClassMix = ReadonlyMap<string, number>;

/** ln of the CPU seconds that a request takes on nodes of a class over those on the reference class; a class not named takes as much. */
export type ClassLogs = ReadonlyMap<string, number>;

/** Main containers of a service by class of their node; empty where the class of one is not known. */
export function mixOf(window: Window): ClassMix {
  const mix = new Map<string, number>();
  for (const { nodeClass } of mainContainers(window)) {
    if (nodeClass === undefined) return new Map();
    mix.set(nodeClass, (mix.get(nodeClass) ?? 0) + 1);
  }
  return mix;
}

/**
 * CPU seconds that a request takes of a mix in the mean over those on the reference class: requests are shared evenly. Two
 * containers on the reference class and two on one with ln 2: (1 + 1 + 2 + 2) / 4 = 1.5. 1 of an empty mix.
 */
export function costOfMix(mix: ClassMix, logs: ClassLogs): number {
  let [sum, count] = [0, 0];
  for (const [nodeClass, number] of mix) {
    sum += number * Math.exp(logs.get(nodeClass) ?? 0);
    count += number;
  }
  return count > 0 ? sum / count : 1;
}
