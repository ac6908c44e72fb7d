import { z } from "zod";
import { Interference } from "./interference.ts";
import { Count, EpochMs, NonNegative, orAbsent } from "./quantity.ts";

/**
 * The integral of each interference component over time, in seconds since the agent knows the object: its increase over
 * the time between two reads is the mean in between, whenever the reader looks. A component nothing tells is absent.
 */
export const InterferenceSeconds = z.strictObject({
  cpu: NonNegative.optional(),
  memoryCapacity: NonNegative.optional(),
  memoryBandwidth: NonNegative.optional(),
  network: NonNegative.optional(),
});
export type InterferenceSeconds = z.infer<typeof InterferenceSeconds>;

/** Hardware of the node, read once at start. Every part is optional: a hardened image may hide it. */
export const Inventory = z.strictObject({
  cpuModel: z.string().max(200).optional(),
  cpuVendor: z.string().max(100).optional(),
  cpuFamily: z.string().max(100).optional(),
  cpuCores: z.number().positive().optional(),
  /** Nominal and highest clock of the first CPU, as cpufreq states it; virtual machines mostly hide both. */
  cpuBaseHertz: z.number().positive().optional(),
  cpuMaxHertz: z.number().positive().optional(),
  /** Largest cache that the first CPU shares, bytes. */
  cacheBytes: z.number().positive().optional(),
  numaNodes: z.number().int().positive().optional(),
  memoryBytes: NonNegative.optional(),
  disks: z
    .array(
      z.strictObject({
        name: z.string().max(64),
        kind: z.enum(["nvme", "ssd", "hdd", "unknown"]).catch("unknown"),
      }),
    )
    .max(256)
    .optional(),
  networkInterfaces: z
    .array(
      z.strictObject({
        name: z.string().max(64),
        /** Link speed; absent on virtual and down interfaces that do not tell. */
        bytesPerSecond: z.number().positive().optional(),
      }),
    )
    .max(256)
    .optional(),
});
export type Inventory = z.infer<typeof Inventory>;

/** One node-level signal at its last sample. */
export const SignalSample = z.strictObject({
  /** Base unit of the signal: seconds, bytes, a ratio, or events, per second where it is a rate. */
  value: z.number(),
  sampledAtMs: EpochMs,
  /** Time since the sample was taken when the snapshot was written. */
  ageSeconds: NonNegative,
});
export type SignalSample = z.infer<typeof SignalSample>;

/**
 * One container at its last sample. Cumulative counters come with the time they were read, so that a reader can form
 * the rate over its own window; absent means not readable, never 0.
 */
export const ContainerSample = z.strictObject({
  /** Runtime's id, or the id the workload source gave. */
  id: z.string().min(1).max(128),
  podUid: z.string().max(64).optional(),
  podName: z.string().max(253).optional(),
  namespace: z.string().max(253).optional(),
  containerName: z.string().max(253).optional(),
  qosClass: orAbsent(z.enum(["Guaranteed", "Burstable", "BestEffort"])),
  sampledAtMs: EpochMs,
  ageSeconds: NonNegative,
  cpu: z.strictObject({
    limitCores: z.number().positive().optional(),
    usageSecondsTotal: NonNegative.optional(),
    /** Mean use over the agent's last sampling interval. */
    usageCores: NonNegative.optional(),
    periodsTotal: Count.optional(),
    throttledPeriodsTotal: Count.optional(),
    throttledSecondsTotal: NonNegative.optional(),
    pressureWaitingSecondsTotal: NonNegative.optional(),
  }),
  memory: z.strictObject({
    limitBytes: z.number().positive().optional(),
    usageBytes: NonNegative.optional(),
    workingSetBytes: NonNegative.optional(),
    majorFaultsTotal: Count.optional(),
    refaultsTotal: Count.optional(),
    oomKillsTotal: Count.optional(),
    pressureWaitingSecondsTotal: NonNegative.optional(),
  }),
  io: z
    .strictObject({
      readBytesTotal: NonNegative.optional(),
      writtenBytesTotal: NonNegative.optional(),
      pressureWaitingSecondsTotal: NonNegative.optional(),
    })
    .optional(),
  interference: Interference,
  interferenceSecondsTotal: InterferenceSeconds.optional(),
});
export type ContainerSample = z.infer<typeof ContainerSample>;

export const SNAPSHOT_SCHEMA = "tradewind.dev/snapshot/v1";

/** What an agent knows of its node: `GET /v1/snapshot`. */
export const Snapshot = z.strictObject({
  schema: z.literal(SNAPSHOT_SCHEMA),
  node: z.string().min(1).max(253),
  /** Changes when the agent restarts: a reader must not form a rate across it. */
  agentStartedAtMs: EpochMs,
  takenAtMs: EpochMs,
  capacity: z.strictObject({ cpuCores: z.number().positive(), memoryBytes: z.number().positive() }),
  inventory: Inventory.optional(),
  interference: Interference,
  interferenceSecondsTotal: InterferenceSeconds.optional(),
  /** Node-level signals by name, for example `cpu.busyRatio`, `pressure.memory.someRatio`. */
  signals: z.record(z.string().max(64), SignalSample),
  containers: z.array(ContainerSample).max(20_000),
  /** The agent's own cost since it started. */
  agent: z.strictObject({
    samplesTotal: Count,
    cpuSecondsTotal: NonNegative,
    /** CPU seconds per second of life. */
    cpuRatio: NonNegative,
    residentBytes: NonNegative,
  }),
});
export type Snapshot = z.infer<typeof Snapshot>;
