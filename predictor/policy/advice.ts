import type { DecisionContext, Observation } from "./observe/observation.ts";
import { mainContainers, meanOfKnown } from "@tradewind/core/main-containers.ts";
import type { StatedSize } from "./observe/container-size.ts";
import { memoryNeed } from "./observe/memory-peaks.ts";
import type { Target } from "./target.ts";

/** CPU that was advised is forgotten by half in this time while less is enough. */
const CPU_HALF_LIFE_MS = 3_600_000;

/** Sizes that a decision does not count on: what would be cheapest if it could be moved. */
export interface Advice {
  /** Of each container, only where the target states none. */
  readonly size: StatedSize;
  /** CPU that the decisions of the last hours took, before rounding, cores. */
  readonly cpuCores?: number;
}

/**
 * What to give each container of a service where the decision states no size, at the replicas decided on. CPU: the size for
 * which the models expect the least cost, else what its use takes at the target utilisation; the most of the last hours counts.
 * Memory: the peaks of days. A size that the decision may move and left alone is advised as it is.
 */
export function adviceOf(one: Observation, target: Target, context: DecisionContext): Advice {
  const cpuCores = advisedCores(one, target, context);
  const memoryBytes = advisedBytes(one, target, context);
  const { cpu, memory } = one.spec;
  return {
    size: {
      ...(target.cpuCores === undefined &&
        cpuCores !== undefined && {
          cpuCores: isLeftAlone(one, target, "cpu")
            ? cpuCores
            : Math.max(cpu.minCores, Math.min(inTwoDigits(cpuCores), cpu.maxCores)),
        }),
      ...(target.memoryBytes === undefined &&
        memoryBytes !== undefined && {
          memoryBytes: isLeftAlone(one, target, "memory")
            ? memoryBytes
            : Math.max(memory.minBytes, Math.min(inTwoDigits(memoryBytes), memory.maxBytes)),
        }),
    },
    ...(cpuCores !== undefined && { cpuCores }),
  };
}

/** The models could have moved it, and did not. */
const isLeftAlone = ({ resizable }: Observation, { planned }: Target, resource: "cpu" | "memory"): boolean =>
  planned !== undefined && resizable[resource];

function advisedCores(one: Observation, target: Target, context: DecisionContext): number | undefined {
  if (isLeftAlone(one, target, "cpu")) return one.container?.cpuCores;
  const { endMs, startMs } = context.windowSet;
  const now = target.planned?.cheapestCores ?? coresByUse(one, target, context);
  const faded = (one.memory?.advisedCpuCores ?? 0) * 0.5 ** ((endMs - startMs) / CPU_HALF_LIFE_MS);
  const cores = Math.max(now ?? 0, faded);
  return cores > 0 ? cores : undefined;
}

/** CPU of each of the replicas decided on, at the target utilisation. Throttled containers count up to double. */
function coresByUse(
  { readyReplicas = 0, window }: Observation,
  { replicas }: Target,
  { settings }: DecisionContext,
): number | undefined {
  if (window === undefined || readyReplicas === 0) return undefined;
  const used = mainContainers(window).map(({ cpuThrottledRatio = 0, cpuUsageCores }) =>
    cpuUsageCores === undefined ? undefined : cpuUsageCores * (1 + cpuThrottledRatio),
  );
  const mean = meanOfKnown(used);
  if (mean === undefined) return undefined;
  return (mean * readyReplicas) / Math.max(1, replicas) / settings.targetUtilisation;
}

function advisedBytes(one: Observation, target: Target, { settings }: DecisionContext): number | undefined {
  const hasBytes = one.runningContainer?.memoryBytes ?? 0;
  if (isLeftAlone(one, target, "memory") && hasBytes > 0) return hasBytes;
  return memoryNeed(one.memoryPeaks, hasBytes, settings.cost.memoryRatio);
}

/** The next larger number of two digits, so that a size is the same from window to window: 0.2314 cores are 0.24. */
function inTwoDigits(value: number): number {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 1);
  return Number((Math.ceil(value / unit - 1e-9) * unit).toPrecision(2));
}
