import { Count, NodeClassName } from "@tradewind/core/contract/quantity.ts";
import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { allocatedCpuCores, mainContainers, meanOfKnown } from "@tradewind/core/measure/main-containers.ts";
import { z } from "zod";
import type { ClassLogs } from "./class-mix.ts";

/** Comparisons kept of a class, an hour of one service's windows; and the weightiest of one window that are kept. */
const MOST_COMPARISONS = 240;
const MOST_OF_WINDOW = 24;
const MOST_CLASSES = 16;
/** Windows without the reference class until another one takes its place: an hour. */
const REFERENCE_GONE = 240;
/** Requests on each side below which a comparison says nothing. */
const LEAST_REQUESTS = 20;
/** Comparisons, by their weight, before a factor counts. */
const LEAST_COMPARISONS = 20;
/** Of the median, 99 %: it is looked at in every window. */
const QUANTILE = 2.576;
/** Other tenants' share of the CPU in which two sides may differ. */
const SAME_INTERFERENCE = 0.1;
/** Use over the limit from which on it says what a container gets, no longer what requests take. */
const SATURATED = 0.9;
const DIGITS = 1e4;

/** ln of the CPU seconds a request on the class over those on the reference class, and the requests that this rests on. */
const Comparison = z.tuple([z.number(), z.number().positive()]);
type Comparison = z.infer<typeof Comparison>;

/** What windows have shown of the CPU speed of node classes. */
export const ClassSpeedMemory = z.strictObject({
  reference: NodeClassName,
  /** Windows in a row in which no container was seen on it. */
  referenceMissed: Count,
  /** The others, by name; comparisons newest first. */
  classes: z
    .array(
      z.strictObject({ nodeClass: NodeClassName, comparisons: z.array(Comparison).max(MOST_COMPARISONS) }),
    )
    .max(MOST_CLASSES),
});
export type ClassSpeedMemory = z.infer<typeof ClassSpeedMemory>;

/** A measured factor. */
export interface CpuFactor {
  /** ln of CPU seconds a request over those on the reference class: median, and its interval of 99 %. */
  readonly log: number;
  readonly low: number;
  readonly high: number;
  /** As many comparisons of equal weight would say as much. */
  readonly comparisons: number;
  /** The interval leaves out 0, and there are enough comparisons. */
  readonly isSignificant: boolean;
}

/**
 * What is known of the classes after one more window. Each service with containers on the reference class and on another one
 * compares what a request took of the CPU on both in that same window, so that load, endpoints and program are the same.
 * @param youngMs containers that started so recently do not count, since they warm up
 * @returns undefined while nodes of one class only were seen
 */
export function speedsAfter(
  memory: ClassSpeedMemory | undefined,
  windows: readonly Window[],
  youngMs: number,
): ClassSpeedMemory | undefined {
  const seen = containersByClass(windows);
  if (memory === undefined && seen.size < 2) return undefined;
  const before = withReference(memory, seen);
  const known = new Map(before.classes.map((each) => [each.nodeClass, each.comparisons]));
  const found = comparisonsOf(windows, before.reference, youngMs);
  const names = [...new Set([...known.keys(), ...seen.keys()])].filter((name) => name !== before.reference);
  return {
    reference: before.reference,
    referenceMissed: before.referenceMissed,
    classes: names
      .sort()
      .slice(0, MOST_CLASSES)
      .map((nodeClass) => ({
        nodeClass,
        comparisons: [...(found.get(nodeClass) ?? []), ...(known.get(nodeClass) ?? [])].slice(
          0,
          MOST_COMPARISONS,
        ),
      })),
  };
}

function containersByClass(windows: readonly Window[]): Map<string, number> {
  const seen = new Map<string, number>();
  for (const window of windows)
    for (const { nodeClass } of mainContainers(window))
      if (nodeClass !== undefined) seen.set(nodeClass, (seen.get(nodeClass) ?? 0) + 1);
  return seen;
}

/** The class with the most containers is what others are compared with, until it has been gone for an hour. */
function withReference(
  memory: ClassSpeedMemory | undefined,
  seen: ReadonlyMap<string, number>,
): ClassSpeedMemory {
  const [largest] = [...seen].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  if (memory === undefined) return { reference: largest?.[0] ?? "", referenceMissed: 0, classes: [] };
  const referenceMissed = seen.has(memory.reference) || seen.size === 0 ? 0 : memory.referenceMissed + 1;
  if (referenceMissed < REFERENCE_GONE || largest === undefined) return { ...memory, referenceMissed };
  const [reference] = largest;
  const shift = logsOf(memory).get(reference) ?? 0;
  const classes = memory.classes
    .filter(({ nodeClass }) => nodeClass !== reference)
    .map(({ comparisons, nodeClass }) => ({
      nodeClass,
      comparisons: comparisons.map(([log, weight]): Comparison => [log - shift, weight]),
    }));
  return { reference, referenceMissed: 0, classes };
}

function comparisonsOf(
  windows: readonly Window[],
  reference: string,
  youngMs: number,
): ReadonlyMap<string, readonly Comparison[]> {
  const found = new Map<string, Comparison[]>();
  for (const window of windows)
    for (const [nodeClass, comparison] of comparedIn(window, reference, youngMs)) {
      const all = found.get(nodeClass) ?? [];
      all.push(comparison);
      found.set(nodeClass, all);
    }
  for (const all of found.values()) {
    all.sort(([, a], [, b]) => b - a);
    all.splice(MOST_OF_WINDOW);
  }
  return found;
}

/** One side of a comparison: containers of one service on nodes of one class. */
interface Side {
  readonly usageCores: number;
  readonly requests: number;
  readonly interference: number;
}

/** What one window of one service says of each class beside the reference. */
function comparedIn(window: Window, reference: string, youngMs: number): Map<string, Comparison> {
  const found = new Map<string, Comparison>();
  const { endMs, missing, newestRevisionShare = 1, requestsPerSecond = 0, startMs } = window;
  if (missing !== undefined || newestRevisionShare < 1 || requestsPerSecond === 0) return found;
  const containers = mainContainers(window);
  const each = (requestsPerSecond * (endMs - startMs)) / 1e3 / Math.max(1, containers.length);
  const byClass = Map.groupBy(containers, ({ nodeClass }) => nodeClass);
  const side = (nodeClass: string): Side | undefined => {
    const all = byClass.get(nodeClass) ?? [];
    const old = all.filter(({ startedAtMs = 0 }) => endMs - startedAtMs >= youngMs);
    return sideOf(
      old,
      each,
      containers.every(({ calls }) => calls !== undefined),
    );
  };
  const base = side(reference);
  if (base === undefined) return found;
  for (const nodeClass of byClass.keys()) {
    const other = nodeClass === undefined || nodeClass === reference ? undefined : side(nodeClass);
    if (nodeClass === undefined || other === undefined) continue;
    if (Math.abs(other.interference - base.interference) > SAME_INTERFERENCE) continue;
    const log = Math.log(other.usageCores / other.requests / (base.usageCores / base.requests));
    const weight = 1 / (1 / other.requests + 1 / base.requests);
    found.set(nodeClass, [Math.round(DIGITS * log) / DIGITS, Math.max(1, Math.round(weight))]);
  }
  return found;
}

/**
 * @param requests to each container where pods are not counted apart: requests are taken to be shared evenly
 * @param isCounted all containers of the service have their own counts
 * @returns undefined where something is not measured, too little was asked, or a container is full
 */
function sideOf(
  containers: readonly ContainerWindow[],
  requests: number,
  isCounted: boolean,
): Side | undefined {
  if (containers.length === 0) return undefined;
  let [usageCores, sum] = [0, 0];
  for (const container of containers) {
    const { calls = 0, cpuUsageCores } = container;
    if (cpuUsageCores === undefined || !(cpuUsageCores > 0)) return undefined;
    if (cpuUsageCores >= SATURATED * (allocatedCpuCores(container) ?? Infinity)) return undefined;
    usageCores += cpuUsageCores;
    sum += isCounted ? calls : requests;
  }
  const interference = meanOfKnown(containers.map((each) => each.interference?.cpu.value)) ?? 0;
  return sum >= LEAST_REQUESTS ? { usageCores, requests: sum, interference } : undefined;
}

/** The median of a class's comparisons by their weights, with the interval of ranks. Undefined without any. */
export function factorOf(comparisons: readonly Comparison[]): CpuFactor | undefined {
  if (comparisons.length === 0) return undefined;
  const sorted = [...comparisons].sort(([a], [b]) => a - b);
  const total = sorted.reduce((sum, [, weight]) => sum + weight, 0);
  const squares = sorted.reduce((sum, [, weight]) => sum + weight * weight, 0);
  const count = (total * total) / squares;
  const half = (QUANTILE * 0.5) / Math.sqrt(count);
  const log = quantileOf(sorted, 0.5 * total);
  const low = quantileOf(sorted, (0.5 - half) * total);
  const high = quantileOf(sorted, (0.5 + half) * total);
  const isSignificant = count >= LEAST_COMPARISONS && (low > 0 || high < 0);
  return { log, low, high, comparisons: count, isSignificant };
}

/** @param sorted by rising value @param rank sum of weights up to the value asked for */
function quantileOf(sorted: readonly Comparison[], rank: number): number {
  let sum = 0;
  for (const [log, weight] of sorted) {
    sum += weight;
    if (sum >= rank) return log;
  }
  return sorted.at(-1)?.[0] ?? 0;
}

const NO_LOGS: ClassLogs = new Map();

/** What decisions count with: factors that are significant. Empty where none is. */
export function logsOf(memory: ClassSpeedMemory | undefined): ClassLogs {
  if (memory === undefined) return NO_LOGS;
  return new Map(
    memory.classes.flatMap(({ comparisons, nodeClass }): [string, number][] => {
      const factor = factorOf(comparisons);
      return factor?.isSignificant === true ? [[nodeClass, factor.log]] : [];
    }),
  );
}
