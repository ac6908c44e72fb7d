import type { Window } from "@tradewind/core/contract/window.ts";
import { costOfMix, mixOf } from "./class-mix.ts";
import type { ClassLogs, ClassMix } from "./class-mix.ts";

/** What requests cost on the nodes of one service's pods, as ln of CPU seconds a request over those of the pods that run now. */
export interface PodSpeeds {
  /** Containers that run, by class of their node. */
  readonly mix: ClassMix;
  /** Of so many replicas: those that run stay where they are, others go to where nodes have room. */
  at(replicas: number): number;
  /** Of pods that are all on nodes of one class. */
  on(nodeClass: string): number;
  /**
   * Replicas for which the work of each is what it is with so many that are as fast as those that run. Requests are shared
   * evenly, so with r replicas of which n run the work is (n + (r - n) ratio) / r times that of as fast ones.
   */
  replicasFor(needed: number): number;
}

/** @returns undefined where all pods are equally fast, as far as is known */
export function podSpeedsOf(
  window: Window | undefined,
  logs: ClassLogs,
  rooms: ClassMix,
): PodSpeeds | undefined {
  const mix = window === undefined || logs.size === 0 ? new Map<string, number>() : mixOf(window);
  if (mix.size === 0) return undefined;
  const running = [...mix.values()].reduce((sum, each) => sum + each, 0);
  const now = costOfMix(mix, logs);
  const ratio = rooms.size === 0 ? 1 : costOfMix(rooms, logs) / now;
  return {
    mix,
    at: (replicas) =>
      replicas <= running ? 0 : Math.log((running + (replicas - running) * ratio) / replicas),
    on: (nodeClass) => (logs.get(nodeClass) ?? 0) - Math.log(now),
    replicasFor: (needed) => {
      if (needed <= running) return needed;
      const scaled = needed * ratio;
      return (scaled + Math.sqrt(scaled * scaled + 4 * needed * running * (1 - ratio))) / 2;
    },
  };
}
