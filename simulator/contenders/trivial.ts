import { combinations, numberOf } from "./contender.ts";
import type { Contender } from "./contender.ts";
import { numbersBrain, sloRatio } from "./numbers.ts";
import type { ServiceFacts } from "./numbers.ts";

/**
 * While the objective is missed the one most starved service gets a pod; while p95 stays under a share of it for some windows
 * the least starved one loses one. What a planner has to beat before its choice is worth anything.
 */
function starvedFirst(
  name: string,
  about: string,
  hunger: (facts: ServiceFacts) => number | undefined,
): Contender {
  return {
    name,
    about,
    defaults: { calmShare: 0.6, calmWindows: 8, missShare: 0.9 },
    grid: combinations({ calmShare: [0.4, 0.6], calmWindows: [4, 8], missShare: [0.8, 1] }),
    supports: () => true,
    start: (setting, parameters) => {
      let calm = 0;
      const wanted = new Map<string, { replicas: number }>();
      return numbersBrain(setting, (measured, windowSet) => {
        // What was wanted last counts, not what runs: the HPA carries out a step down minutes later.
        const facts = measured.map((each) => ({
          ...each,
          replicas: wanted.get(each.service)?.replicas ?? each.replicas,
        }));
        const ratio = sloRatio(setting, windowSet);
        if (ratio === undefined) return wanted;
        const known = facts
          .flatMap((each) => {
            const value = hunger(each);
            return value === undefined ? [] : [{ ...each, value }];
          })
          .sort((a, b) => b.value - a.value);
        for (const { replicas, service } of facts) wanted.set(service, { replicas });
        calm = ratio < numberOf(parameters, "calmShare") ? calm + 1 : 0;
        const [most] = known;
        const least = known.findLast(({ replicas, spec }) => replicas > spec.minReplicas);
        if (most !== undefined && ratio > numberOf(parameters, "missShare")) {
          wanted.set(most.service, { replicas: most.replicas + 1 });
        } else if (least !== undefined && calm >= numberOf(parameters, "calmWindows")) {
          wanted.set(least.service, { replicas: least.replicas - 1 });
          calm = 0;
        }
        return wanted;
      });
    },
  };
}

export const MOST_CPU_STARVED = starvedFirst(
  "most-cpu-starved",
  "One pod at a time to the service that uses the largest share of its CPU, back from the smallest.",
  ({ utilisation }) => utilisation,
);

export const MOST_MEMORY_STARVED = starvedFirst(
  "most-memory-starved",
  "One pod at a time to the service that uses the largest share of its memory, back from the smallest.",
  ({ memoryBytes, podBytes }) =>
    memoryBytes === undefined || podBytes === 0 ? undefined : memoryBytes / podBytes,
);
