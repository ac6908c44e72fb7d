import type { Allocation, Bounds, Wish } from "@tradewind/core/contract/plan.ts";
import type { Window } from "@tradewind/core/contract/window.ts";
import {
  allocatedCpuCores,
  allocatedMemoryBytes,
  mainContainers,
} from "@tradewind/core/measure/main-containers.ts";
import { asList, loadRatio, studentInputs, TREND_MS } from "@tradewind/core/students/inputs.ts";
import type { LoadPoint, PlannedService } from "@tradewind/core/students/inputs.ts";
import type { ServiceReading } from "@tradewind/core/students/reading.ts";
import { taughtActions } from "@tradewind/core/students/taught.ts";
import type { Pair } from "@tradewind/core/students/train-student.ts";

/** What a scaler could read of a service in one window, and what was decided on it. */
export interface SeenWindow {
  readonly reading: ServiceReading;
  readonly planned: PlannedService;
  /** The decision on this window. */
  readonly decided: Allocation;
}

/**
 * Windows since the last plan that lessons are of, as silences that might have begun then: from the moment in which one counts (two and a
 * half windows) to the five minutes of `--stale-after`, each twice as long as the one before.
 */
export const SILENT_WINDOWS = [3, 6, 12, 20] as const;
/** Windows that are looked back on. */
export const WINDOWS_SEEN = Math.max(...SILENT_WINDOWS) + 1;

/** Undefined where a scaler could not read the service, or the planner decided on a part of the window. */
export function seenWindow(window: Window, wish: Wish): SeenWindow | undefined {
  const reading = readingOf(window);
  if (reading === undefined || !wish.observed.complete) return undefined;
  const { allocation, evidence, observed } = wish;
  const { cpuPodCapacityCores, cpuSecondsPerRequest, requestsPerSecond } = evidence;
  return {
    reading,
    decided: allocation,
    planned: {
      allocation,
      atMs: window.endMs,
      usedCores:
        cpuSecondsPerRequest === undefined || requestsPerSecond === undefined
          ? undefined
          : cpuSecondsPerRequest * requestsPerSecond,
      cpuCores: cpuPodCapacityCores ?? observed.cpuCores,
      memoryBytes: observed.memoryBytes,
    },
  };
}

/**
 * What students could have seen now had the predictor been silent for so many windows, and what it decided: with what the last plan
 * before the silence gave, where nobody has added anything yet, and with what the planner added since.
 * @param seen windows before this one, the newest last
 */
export function lessonsOf(seen: readonly SeenWindow[], now: SeenWindow, bounds: Bounds): Pair[] {
  const before = seen.at(-1);
  if (before === undefined) return [];
  return SILENT_WINDOWS.flatMap((windows): Pair[] => {
    const since = seen.slice(-windows);
    const [first] = since;
    if (first === undefined || since.length < windows) return [];
    const { planned } = first;
    // Nothing goes below the last plan while the predictor is silent.
    const added = larger(before.decided, planned.allocation);
    const inForce = added.replicas > planned.allocation.replicas ? [planned.allocation, added] : [added];
    return inForce.flatMap((allocation) =>
      lessonOf({ allocation, bounds, now, planned, since: since.slice(1) }),
    );
  });
}

interface Silent {
  readonly planned: PlannedService;
  /** What is in force. */
  readonly allocation: Allocation;
  /** Windows since the plan, this one not among them. */
  readonly since: readonly SeenWindow[];
  readonly now: SeenWindow;
  readonly bounds: Bounds;
}

function lessonOf({ allocation, bounds, now, planned, since }: Silent): Pair[] {
  const { replicas } = allocation;
  const reading = heldTo(now.reading, replicas);
  const points = since.flatMap(({ reading: earlier }): LoadPoint[] => {
    const ratio = loadRatio(heldTo(earlier, replicas), planned);
    return ratio === undefined ? [] : [{ atMs: earlier.atMs, ratio }];
  });
  const earlier = [{ atMs: planned.atMs, ratio: 1 }, ...points].filter(
    ({ atMs }) => atMs >= reading.atMs - TREND_MS && atMs < reading.atMs,
  );
  const inputs = studentInputs(reading, planned, replicas, earlier);
  if (inputs === undefined) return [];
  const actions = taughtActions({
    before: allocation,
    bounds,
    planned: planned.allocation,
    wished: now.decided,
  });
  return [{ inputs: asList(inputs), actions }];
}

/** What no more than so many pods would have shown: they cannot use more than their quota, and are throttled at it. */
function heldTo(reading: ServiceReading, replicas: number): ServiceReading {
  const { cpuCores, cpuLimitCores, pods } = reading;
  if (cpuLimitCores === undefined || pods <= replicas) return reading;
  const most = replicas * cpuLimitCores;
  const isFull = cpuCores >= most;
  return {
    ...reading,
    pods: replicas,
    cpuCores: Math.min(cpuCores, most),
    ...(isFull && { throttledRatio: 1 }),
  };
}

const larger = (a: Allocation, b: Allocation): Allocation => ({
  replicas: Math.max(a.replicas, b.replicas),
  ...(a.cpuCores !== undefined && { cpuCores: Math.max(a.cpuCores, b.cpuCores ?? 0) }),
  ...(a.memoryBytes !== undefined && { memoryBytes: Math.max(a.memoryBytes, b.memoryBytes ?? 0) }),
});

/** As the scaler reads it from the agents: the main containers whose CPU use is known. */
function readingOf(window: Window): ServiceReading | undefined {
  const read = mainContainers(window).filter(({ cpuUsageCores }) => cpuUsageCores !== undefined);
  if (read.length === 0) return undefined;
  const mean = (of: (container: (typeof read)[number]) => number | undefined): number | undefined => {
    const values = read.map((each) => of(each)).filter((value) => value !== undefined);
    return values.length < read.length
      ? undefined
      : values.reduce((sum, each) => sum + each, 0) / read.length;
  };
  const limit = mean(allocatedCpuCores);
  const [memory, memoryLimit] = [
    mean(({ memoryWorkingSetBytes }) => memoryWorkingSetBytes),
    mean(allocatedMemoryBytes),
  ];
  return {
    atMs: window.endMs,
    pods: read.length,
    cpuCores: read.reduce((sum, { cpuUsageCores = 0 }) => sum + cpuUsageCores, 0),
    throttledRatio: mean(({ cpuThrottledRatio }) => cpuThrottledRatio ?? 0) ?? 0,
    ...(limit !== undefined && { cpuLimitCores: limit }),
    ...(memory !== undefined && { memoryBytes: memory }),
    ...(memoryLimit !== undefined && { memoryLimitBytes: memoryLimit }),
  };
}
