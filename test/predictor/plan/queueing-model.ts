import type { OwnTailModel, PlanService } from "../../../predictor/plan/plan-service.ts";

/**
 * Own tail of a processor-sharing server: 3·s / (1 − utilisation) with s CPU seconds per request, carried on linearly
 * beyond 95 % utilisation; less memory than it needs doubles it.
 */
export function queueingModel(cpuSecondsPerRequest: number, memoryNeedBytes = 0): OwnTailModel {
  return {
    ownTailSeconds(cpuCores, memoryBytes, requestsPerSecondPerReplica) {
      const utilisation = (requestsPerSecondPerReplica * cpuSecondsPerRequest) / cpuCores;
      const knee = 0.95;
      const stretch =
        utilisation < knee ? 1 / (1 - utilisation) : 1 / (1 - knee) + (utilisation - knee) / (1 - knee) ** 2;
      const starved = Math.max(1, (2 * memoryNeedBytes) / memoryBytes);
      return (3 * cpuSecondsPerRequest * stretch * starved) / Math.min(1, cpuCores);
    },
  };
}

/** A service with room to move in every direction; parts can be set. */
export function planService(name: string, parts: Partial<PlanService> = {}): PlanService {
  return {
    name,
    requestsPerSecond: 20,
    size: { replicas: 1, cpuCores: 0.5, memoryBytes: 200e6 },
    floor: { replicas: 1, cpuCores: 0.1, memoryBytes: 100e6 },
    ceiling: { replicas: 20, cpuCores: 4, memoryBytes: 2e9 },
    stepCpuCores: 0.2,
    stepMemoryBytes: 100e6,
    measuredOwnTailSeconds: 0.05,
    meanOverTail: 1 / 3,
    maxStepsBack: 100,
    model: queueingModel(0.01),
    ...parts,
  };
}
