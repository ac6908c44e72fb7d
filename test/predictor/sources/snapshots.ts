import { SNAPSHOT_SCHEMA } from "@tradewind/core/contract/snapshot.ts";
import type { ContainerSample, Snapshot } from "@tradewind/core/contract/snapshot.ts";
import type { Exchange } from "@tradewind/predictor/sources/agent-clock.ts";

const UNSUPPORTED = { supported: false } as const;

export interface ContainerFacts {
  readonly id: string;
  readonly sampledAtMs: number;
  readonly ageSeconds?: number;
  readonly cpu?: Partial<ContainerSample["cpu"]>;
  readonly oomKillsTotal?: number;
  readonly io?: ContainerSample["io"];
  readonly cpuInterference?: number;
  /** Integral of the CPU interference. */
  readonly interferenceSeconds?: number;
}

/** An answer that takes no time. */
export const atOnce = (ms: number): Exchange => ({ askedAtMs: ms, answeredAtMs: ms });

export function snapshot(containers: readonly ContainerFacts[], overrides: Partial<Snapshot> = {}): Snapshot {
  return {
    schema: SNAPSHOT_SCHEMA,
    node: "node-1",
    agentStartedAtMs: 1_000,
    takenAtMs: 2_000,
    capacity: { cpuCores: 4, memoryBytes: 8e9 },
    interference: {
      cpu: UNSUPPORTED,
      memoryCapacity: UNSUPPORTED,
      memoryBandwidth: UNSUPPORTED,
      network: UNSUPPORTED,
    },
    signals: {},
    containers: containers.map(container),
    agent: { samplesTotal: 1, cpuSecondsTotal: 0, cpuRatio: 0, residentBytes: 1 },
    ...overrides,
  };
}

function container({
  id,
  sampledAtMs,
  ageSeconds = 0,
  cpu = {},
  oomKillsTotal,
  io,
  cpuInterference,
  interferenceSeconds,
}: ContainerFacts): ContainerSample {
  return {
    id,
    sampledAtMs,
    ageSeconds,
    cpu,
    ...(io && { io }),
    memory: { workingSetBytes: 50e6, ...(oomKillsTotal !== undefined && { oomKillsTotal }) },
    interference: {
      cpu: cpuInterference === undefined ? UNSUPPORTED : { supported: true, value: cpuInterference },
      memoryCapacity: UNSUPPORTED,
      memoryBandwidth: UNSUPPORTED,
      network: UNSUPPORTED,
    },
    ...(interferenceSeconds !== undefined && { interferenceSecondsTotal: { cpu: interferenceSeconds } }),
  };
}
