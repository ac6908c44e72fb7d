import { mainContainers } from "@tradewind/core/main-containers.ts";
import type { ContainerSize } from "../../plan/application-plan.ts";
import { roundedUp } from "../../plan/plan-service.ts";
import type { DecisionContext, Observation } from "../observe/observation.ts";
import { bounded } from "../target.ts";

/** What a plan starts from for one service: the last wish, raised to what the service needs right now. */
export interface StartSize {
  readonly replicas: number;
  /** Absent where no CPU is allocated. */
  readonly container?: ContainerSize;
  /** It is more than the last wish. */
  readonly raised: boolean;
}

/**
 * The reactive need as a size: `replicas × cores ≥ demand / target utilisation`. Where containers can be resized they grow
 * first, since that is done at once; what does not fit into the largest one becomes replicas. Memory grows when a container
 * has nearly filled it.
 */
export function startSize(
  context: DecisionContext,
  observation: Observation,
  memoryPeakBytes: number | undefined,
  targetUtilisation = context.settings.targetUtilisation,
): StartSize {
  const replicas = bounded(observation, observation.baseReplicas);
  const { container } = observation;
  if (container === undefined) {
    const needed = bounded(observation, Math.max(replicas, observation.need ?? 0));
    return { replicas: needed, raised: needed > replicas };
  }
  const memoryBytes = neededMemoryBytes(context, observation, container, memoryPeakBytes);
  const total = neededTotalCores(context, observation, targetUtilisation);
  const cpuCores = neededCores(observation, container, replicas, total);
  const capacity = replicas * cpuCores;
  const more = capacity >= total * (1 - 1e-9) ? replicas : Math.ceil(total / cpuCores - 1e-9);
  const needed = bounded(observation, Math.max(replicas, more));
  const raised = needed > replicas || cpuCores > container.cpuCores || memoryBytes > container.memoryBytes;
  return { replicas: needed, container: { cpuCores, memoryBytes }, raised };
}

/** The same with containers of at least so many cores each, where these can be resized; fitted into the service's bounds. */
export function withContainers(
  start: StartSize,
  leastCores: number,
  { resizable, spec }: Observation,
): StartSize {
  const { container } = start;
  const cpuCores = Math.min(roundedUp(leastCores, spec.cpu.stepCores), spec.cpu.maxCores);
  if (container === undefined || !resizable.cpu || cpuCores <= container.cpuCores) return start;
  return { ...start, container: { ...container, cpuCores }, raised: true };
}

/** CPU of all containers that the demand needs, limited as growth of replicas is; 0 when it is not known. */
function neededTotalCores(
  { settings }: DecisionContext,
  observation: Observation,
  targetUtilisation: number,
): number {
  const { demand, readyReplicas } = observation;
  if (demand === undefined || readyReplicas === undefined || readyReplicas <= 0) return 0;
  const most = Math.max(readyReplicas + 1, settings.needGrowthLimit * readyReplicas);
  return Math.min(most * demand.podCapacityCores, demand.cores / targetUtilisation);
}

function neededCores(
  { resizable, spec }: Observation,
  { cpuCores }: ContainerSize,
  replicas: number,
  total: number,
): number {
  const each = total / Math.max(1, replicas);
  if (!resizable.cpu || each <= cpuCores * (1 + 1e-9)) return cpuCores;
  return Math.max(cpuCores, Math.min(roundedUp(each, spec.cpu.stepCores), spec.cpu.maxCores));
}

function neededMemoryBytes(
  { settings: { planner } }: DecisionContext,
  { resizable, spec, window }: Observation,
  { memoryBytes }: ContainerSize,
  peakBytes: number | undefined,
): number {
  const used = Math.max(
    peakBytes ?? 0,
    ...(window === undefined ? [] : mainContainers(window)).map(
      (container) => container.memoryWorkingSetBytes ?? 0,
    ),
  );
  if (!resizable.memory || memoryBytes === 0 || used <= planner.memoryFullRatio * memoryBytes) {
    return memoryBytes;
  }
  const wanted = roundedUp(planner.memoryHeadroomRatio * used, spec.memory.stepBytes);
  return Math.max(memoryBytes, Math.min(wanted, spec.memory.maxBytes));
}
