import { SNAPSHOT_SCHEMA } from "@tradewind/core/contract/snapshot.ts";
import type { ContainerSample, Snapshot } from "@tradewind/core/contract/snapshot.ts";

const UNKNOWN = {
  cpu: { supported: false },
  memoryCapacity: { supported: false },
  memoryBandwidth: { supported: false },
  network: { supported: false },
} as const;

interface Sampled {
  readonly id?: string;
  readonly namespace?: string;
  readonly containerName?: string;
  readonly cpu?: number;
  readonly memoryBytes?: number;
  readonly ageSeconds?: number;
  /** CFS periods so far, and those that were throttled. */
  readonly periods?: readonly [number, number];
}

/** A container of half a core and 256 MB. */
export function containerOf(podName: string, sampled: Sampled): ContainerSample {
  const {
    ageSeconds = 1,
    containerName = "app",
    cpu,
    id = podName,
    memoryBytes = 100e6,
    namespace = "shop",
    periods,
  } = sampled;
  return {
    id,
    podName,
    namespace,
    containerName,
    sampledAtMs: 0,
    ageSeconds,
    cpu: {
      limitCores: 0.5,
      ...(cpu !== undefined && { usageCores: cpu }),
      ...(periods && { periodsTotal: periods[0], throttledPeriodsTotal: periods[1] }),
    },
    memory: { limitBytes: 256e6, workingSetBytes: memoryBytes },
    interference: UNKNOWN,
  };
}

export function snapshotOf(containers: readonly ContainerSample[]): Snapshot {
  return {
    schema: SNAPSHOT_SCHEMA,
    node: "node-1",
    agentStartedAtMs: 0,
    takenAtMs: 0,
    capacity: { cpuCores: 8, memoryBytes: 32e9 },
    interference: UNKNOWN,
    signals: {},
    containers: [...containers],
    agent: { samplesTotal: 1, cpuSecondsTotal: 0, cpuRatio: 0, residentBytes: 0 },
  };
}
