import type { ServiceLimits } from "../../plan/application-plan.ts";
import { hasAmpleCpu, isIdle, isThrottled } from "../observe/bottleneck.ts";
import type { DecisionContext, Observation } from "../observe/observation.ts";
import type { UsableProfile } from "./readiness.ts";

/** Period over which the kernel counts a CPU limit, seconds (Linux, Documentation/scheduler/sched-bwc.rst). */
const CFS_PERIOD_SECONDS = 0.1;

/** CPU of a request of the tail over that of a mean one: it, too, should be served within one period. */
const TAIL_OVER_MEAN_CPU = 2;

/** CPU with which a container serves a request of the tail within one period; 0 where a trained profile tells better. */
export function coresWithinPeriod(usable: UsableProfile | undefined): number {
  if (usable?.rung !== "planner-prior") return 0;
  return (TAIL_OVER_MEAN_CPU * usable.state.cpuSecondsPerRequest) / CFS_PERIOD_SECONDS;
}

/** Keeps a plan from giving to a service what is known not to be short there, whatever its profile expects of it. */
export function whatCannotHelp(
  { settings }: DecisionContext,
  observation: Observation,
): Pick<ServiceLimits, "mostReplicas" | "mostContainerCores"> {
  if (!hasAmpleCpu(observation)) return {};
  const mostContainerCores = observation.runningContainer?.cpuCores;
  return {
    ...(mostContainerCores !== undefined && { mostContainerCores }),
    ...(isIdle(observation, settings) && { mostReplicas: observation.baseReplicas }),
  };
}

export function limitsOf(
  { settings }: DecisionContext,
  observation: Observation,
  usable: UsableProfile | undefined,
  isTold: boolean,
): ServiceLimits {
  const { baseReplicas, readyReplicas, runningContainer, spec } = observation;
  const { planner } = settings;
  const cores = runningContainer?.cpuCores ?? 0;
  const running = (readyReplicas ?? baseReplicas) * cores;
  const oneReplica = (readyReplicas ?? 0) >= 2 ? cores : 0;
  return {
    mostReplicas: Math.max(baseReplicas + 1, Math.floor(settings.needGrowthLimit * baseReplicas)),
    mostContainerCores: Math.min(settings.needGrowthLimit * cores, spec.cpu.maxCores),
    ...(running > 0 && { mostCpuCores: settings.needGrowthLimit * running }),
    leastCpuCores: running - Math.max(planner.shrinkShare * running, oneReplica),
    leastContainerCores: coresWithinPeriod(usable),
    ...(usable?.memoryPeakBytes !== undefined && { memoryPeakBytes: usable.memoryPeakBytes }),
    mayTakeBack: isTold && !isThrottled(observation, settings) && isFullyMeasured(observation),
  };
}

/** Nothing is missing and nothing is on its way: what was measured belongs to what was wished. */
function isFullyMeasured(observation: Observation): boolean {
  const { demand, queue, readyReplicas, resizing, settling, window } = observation;
  return (
    !settling &&
    !resizing &&
    queue?.complete === true &&
    window?.replicasWanted !== undefined &&
    window.missing === undefined &&
    window.requestsPerSecond !== undefined &&
    window.ownLatency !== undefined &&
    readyReplicas !== undefined &&
    demand !== undefined &&
    demand.podsMeasured >= readyReplicas
  );
}
