import type { DecisionContext, Observation } from "./facts/observation.ts";
import { mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import { memoryNeed } from "./facts/memory-peaks.ts";
import type { Advice, Target, Targets } from "./facts/target.ts";
import { statedSize } from "./facts/container-size.ts";
import type { Facts } from "./window-facts.ts";
import type { LevelDecision } from "./level.ts";

/** CPU that was advised is forgotten by half in this time while less is enough. */
const CPU_HALF_LIFE_MS = 3_600_000;

/**
 * The targets with a size for each service of known use: one to count on, or one to look at. The last recommended size stays
 * where the level sets none; the static level states no sizes at all.
 */
export function withSizes({ context, observations }: Facts, { policy, targets }: LevelDecision): Targets {
  return new Map(
    observations.flatMap((one): [string, Target][] => {
      const decided = targets.get(one.service);
      if (decided === undefined) return [];
      const target = policy === "static" ? decided : { ...statedSize(one, one.container), ...decided };
      return [[one.service, { ...target, advice: adviceOf(one, target, context) }]];
    }),
  );
}

/**
 * What to give each container of a service where the decision states no size, at the replicas decided on. CPU: the size for
 * which the models expect the least cost, else what its use takes at the target utilisation; the most of the last hours counts.
 * Memory: the peaks of days. A size that the decision may move and left alone is advised as it is.
 */
function adviceOf(observation: Observation, target: Target, context: DecisionContext): Advice {
  const cpuCores = advisedCores(observation, target, context);
  const memoryBytes = advisedBytes(observation, target, context);
  const { cpu, memory } = observation.spec;
  return {
    size: {
      ...(target.cpuCores === undefined &&
        cpuCores !== undefined && {
          cpuCores: isLeftAlone(observation, target, "cpu")
            ? cpuCores
            : Math.max(cpu.minCores, Math.min(inTwoDigits(cpuCores), cpu.maxCores)),
        }),
      ...(target.memoryBytes === undefined &&
        memoryBytes !== undefined && {
          memoryBytes: isLeftAlone(observation, target, "memory")
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
