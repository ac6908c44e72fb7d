import type { Interference } from "@tradewind/core/contract/interference.ts";
import { COLUMN, INTERFERENCE_COLUMN } from "./container/columns.ts";
import type { Container } from "./container/container.ts";
import { COMPONENTS, interference } from "./interference.ts";
import type { NodeUse, OwnUse } from "./interference.ts";
import type { Signals } from "./signals.ts";

/** The node's use as its signals tell it now. */
export function nodeUse(signals: Signals): NodeUse {
  return {
    cpuCores: signals.get("cpu.cores"),
    cpuBusyCores: signals.get("cpu.busyCores"),
    cpuWaitRatio: signals.get("pressure.cpu.someRatio"),
    stealRatio: signals.get("cpu.stealRatio"),
    memoryTotalBytes: signals.get("memory.totalBytes"),
    memoryAvailableBytes: signals.get("memory.availableBytes"),
    memoryWaitRatio: signals.get("pressure.memory.someRatio"),
    refaultsPerSecond: signals.get("memory.refaultsPerSecond"),
    bandwidthBytesPerSecond: signals.get("memory.bandwidthBytesPerSecond"),
    bandwidthPeakBytesPerSecond: signals.get("memory.bandwidthPeakBytesPerSecond"),
    networkInterfaces: signals.get("network.interfaces"),
    receivedBytesPerSecond: signals.get("network.receivedBytesPerSecond"),
    sentBytesPerSecond: signals.get("network.sentBytesPerSecond"),
    linkBytesPerSecond: signals.get("network.linkBytesPerSecond"),
    dropRatio: signals.get("network.dropRatio"),
    retransmitRatio: signals.get("network.retransmitRatio"),
    sentSegmentsPerSecond: signals.get("network.sentSegmentsPerSecond"),
  };
}

/** What a container used over its last sampling intervals. */
export function ownUse({ rates, values }: Container): OwnUse {
  const memoryBytes = values[COLUMN.memoryWorkingSetBytes];
  return {
    cpuCores: rates.cpuCores,
    cpuWaitRatio: rates.cpuWaitRatio,
    throttledRatio: rates.throttledRatio,
    memoryBytes: memoryBytes === undefined || Number.isNaN(memoryBytes) ? undefined : memoryBytes,
    memoryWaitRatio: rates.memoryWaitRatio,
    receivedBytesPerSecond: rates.receivedBytesPerSecond,
    sentBytesPerSecond: rates.sentBytesPerSecond,
  };
}

/** Works out a container's interference anew. */
export function evaluateContainer(node: NodeUse, container: Container): Interference {
  container.changed = false;
  const vector = interference(node, ownUse(container));
  container.interference = vector;
  for (const name of COMPONENTS)
    container.values[INTERFERENCE_COLUMN[name]] = vector[name].value ?? Number.NaN;
  return vector;
}

/** The largest change of a component between two vectors; a component that comes or goes counts as 1. */
export function largestMove(before: Interference, now: Interference): number {
  let largest = 0;
  for (const name of COMPONENTS) {
    const a = before[name].value;
    const b = now[name].value;
    if (a === undefined && b === undefined) continue;
    largest = Math.max(largest, a === undefined || b === undefined ? 1 : Math.abs(a - b));
  }
  return largest;
}
