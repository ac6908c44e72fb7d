import type { ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";

/** A window of an application, as failure patterns are looked for in it. */
export interface PatternWindow {
  readonly startMs: number;
  readonly endMs: number;
  readonly windows: readonly Window[];
  /** Latency of the slowest route over its objective; undefined where it is not known. */
  readonly severity: number | undefined;
}

/** Fewer requests of a caller in a window say nothing of how often it calls. */
const LEAST_REQUESTS = 20;

/** Calls for each request of a caller, to each callee and in all, those that the callee did not report included. */
export interface CallRates {
  readonly byCallee: ReadonlyMap<string, number>;
  readonly all: number;
}

/** Undefined where too few requests are known of the window. */
export function callRates(window: Window): CallRates | undefined {
  const { callees, endMs, requestsPerSecond = 0, startMs, unresolvedCallsPerSecond = 0 } = window;
  if (requestsPerSecond * (endMs - startMs) < 1e3 * LEAST_REQUESTS || window.missing !== undefined)
    return undefined;
  const made = callees.reduce((sum, { callsPerSecond }) => sum + callsPerSecond, unresolvedCallsPerSecond);
  return {
    byCallee: new Map(
      callees.map(({ callee, callsPerSecond }) => [callee, callsPerSecond / requestsPerSecond]),
    ),
    all: made / requestsPerSecond,
  };
}

/** The most that others take of any resource of a container's node; undefined where nothing is known. */
export function interferenceOf({ interference }: ContainerWindow): number | undefined {
  const known = Object.values(interference ?? {}).flatMap(({ value }) => value ?? []);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** The most that a main container was throttled; undefined where it is not measured or has no limit. */
export function throttledOf(window: Window): number | undefined {
  const known = mainContainers(window).flatMap(({ cpuLimitCores, cpuThrottledRatio }) =>
    cpuLimitCores === undefined ? [] : (cpuThrottledRatio ?? []),
  );
  return known.length === 0 ? undefined : Math.max(...known);
}
