import type { CallEdge, ContainerWindow, Window } from "@tradewind/core/contract/window.ts";
import type { InterferenceName } from "@tradewind/core/contract/interference.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { SignalName } from "./signals.ts";

/** What a window says of each signal of a service. A signal that was not measured is absent. */
export type SignalValues = ReadonlyMap<SignalName, number>;

/** The worst container counts: a service is as slow as its slowest part. Undefined where no container has a value. */
function worst(
  containers: readonly ContainerWindow[],
  of: (container: ContainerWindow) => number | undefined,
): number | undefined {
  let most: number | undefined;
  for (const container of containers) {
    const value = of(container);
    if (value !== undefined && Number.isFinite(value)) most = Math.max(most ?? value, value);
  }
  return most;
}

const ratio = (part: number | undefined, whole: number | undefined): number | undefined =>
  part === undefined || whole === undefined || whole <= 0 ? undefined : part / whole;

const disturbed =
  (name: InterferenceName) =>
  ({ interference }: ContainerWindow): number | undefined =>
    interference?.[name].value;

/** @param newVersion share of the pods that run a version which is new; undefined where versions are not known */
export function signalsOf(window: Window, newVersion: number | undefined): SignalValues {
  const { callees, errorRatio, ownLatency, requestsPerSecond, responseLatency } = window;
  const containers = mainContainers(window);
  const cores = containers.reduce((sum, { cpuUsageCores }) => sum + (cpuUsageCores ?? Number.NaN), 0);
  const made = callees.reduce((sum, { callsPerSecond }) => sum + callsPerSecond, 0);
  const isLimited = containers.every(({ cpuLimitCores }) => cpuLimitCores !== undefined);
  const isBound = containers.every(({ memoryLimitBytes }) => memoryLimitBytes !== undefined);
  const values: Partial<Record<SignalName, number | undefined>> = {
    requestRate: requestsPerSecond,
    selfTimeP95: ownLatency?.p95Seconds,
    responseP95: responseLatency?.p95Seconds,
    errorRatio,
    callsPerRequest: callees.length === 0 ? undefined : ratio(made, requestsPerSecond),
    cpuUtilisation: worst(containers, ({ cpuLimitCores, cpuUsageCores }) =>
      ratio(cpuUsageCores, cpuLimitCores),
    ),
    cpuCores: containers.length === 0 || isLimited ? undefined : cores,
    cpuSecondsPerRequest: containers.length === 0 ? undefined : ratio(cores, requestsPerSecond),
    throttledRatio: worst(containers, ({ cpuThrottledRatio }) => cpuThrottledRatio),
    memoryRatio: worst(containers, ({ memoryLimitBytes, memoryWorkingSetBytes }) =>
      ratio(memoryWorkingSetBytes, memoryLimitBytes),
    ),
    memoryBytes: isBound
      ? undefined
      : worst(containers, ({ memoryWorkingSetBytes }) => memoryWorkingSetBytes),
    oomKills: worst(containers, ({ oomKills }) => oomKills),
    diskBytes: worst(containers, ({ diskBytesPerSecond }) => diskBytesPerSecond),
    interferenceCpu: worst(containers, disturbed("cpu")),
    interferenceMemory: worst(containers, disturbed("memoryCapacity")),
    interferenceBandwidth: worst(containers, disturbed("memoryBandwidth")),
    interferenceNetwork: worst(containers, disturbed("network")),
    newVersion,
  };
  return new Map(
    (Object.entries(values) as [SignalName, number | undefined][]).filter(
      (entry): entry is [SignalName, number] => entry[1] !== undefined && Number.isFinite(entry[1]),
    ),
  );
}

export type SeenCall = Pick<CallEdge, "callee" | "transitSeconds"> & {
  readonly caller: string;
  readonly perRequest: number | undefined;
};

export const callsOf = ({ callees, requestsPerSecond, service }: Window): SeenCall[] =>
  callees.map(({ callee, callsPerSecond, transitSeconds }) => ({
    caller: service,
    callee,
    perRequest: ratio(callsPerSecond, requestsPerSecond),
    ...(transitSeconds !== undefined && { transitSeconds }),
  }));
