import type {
  Interference,
  InterferenceComponent,
  InterferenceName,
} from "@tradewind/core/contract/interference.ts";
import type {
  ContainerSample,
  InterferenceSeconds,
  Inventory,
  Snapshot,
} from "@tradewind/core/contract/snapshot.ts";
import { COLUMN, INTEGRAL_COLUMN } from "../container/columns.ts";
import type { ContainerColumn } from "../container/columns.ts";
import type { Container } from "../container/container.ts";
import { COMPONENTS } from "@tradewind/core/measure/interference.ts";
import type { Signals } from "../sampling/signals.ts";

/** The version of the contract; core/contract/snapshot.ts holds the schema, which is not loaded to write one. */
const SCHEMA = "tradewind.dev/snapshot/v1";

export interface SnapshotInput {
  readonly node: string;
  readonly agentStartedAtMs: number;
  readonly nowMs: number;
  /** Monotonic time in seconds, for ages. */
  readonly seconds: number;
  readonly capacity: Snapshot["capacity"];
  readonly inventory: Inventory | undefined;
  readonly interference: Interference;
  /** Integrals of its components in seconds. */
  readonly interferenceIntegral: Float64Array;
  readonly signals: Signals;
  readonly containers: Iterable<Container>;
  readonly agent: Snapshot["agent"];
}

/** The snapshot without its containers, and each container, so that a large one can be written in parts. */
export function snapshotHead(input: SnapshotInput): Omit<Snapshot, "containers"> {
  const { node, agentStartedAtMs, nowMs, seconds, capacity, inventory, signals, agent } = input;
  const entries = [...signals.entries()].map(([name, { value, sampledAt }]) => [
    name,
    { value, sampledAtMs: sampledAt.nowMs, ageSeconds: Math.max(0, seconds - sampledAt.seconds) },
  ]);
  return {
    schema: SCHEMA,
    node,
    agentStartedAtMs,
    takenAtMs: nowMs,
    capacity,
    ...(inventory === undefined ? {} : { inventory }),
    interference: input.interference,
    interferenceSecondsTotal: integrals(
      input.interference,
      (name) => input.interferenceIntegral[COMPONENTS.indexOf(name)],
    ),
    signals: Object.fromEntries(entries) as Snapshot["signals"],
    agent,
  };
}

/** One container as the contract has it; undefined before its first sample. */
export function containerSample(container: Container, seconds: number): ContainerSample | undefined {
  const { id, names, found, values, rates, lastRead, interference } = container;
  if (lastRead === undefined || interference === undefined) return undefined;
  const value = (column: ContainerColumn): number | undefined => {
    const held = values[COLUMN[column]];
    return held === undefined || Number.isNaN(held) ? undefined : held;
  };
  const io = given({
    readBytesTotal: value("ioReadBytes"),
    writtenBytesTotal: value("ioWrittenBytes"),
    pressureWaitingSecondsTotal: value("ioWaitingSeconds"),
  });
  return {
    id,
    ...given({
      podUid: names.podUid ?? found?.podUid,
      podName: names.podName,
      namespace: names.namespace,
      containerName: names.containerName,
      qosClass: found?.qosClass,
    }),
    sampledAtMs: lastRead.nowMs,
    ageSeconds: Math.max(0, seconds - lastRead.seconds),
    cpu: given({
      limitCores: value("cpuLimitCores"),
      usageSecondsTotal: value("cpuUsageSeconds"),
      usageCores: value("cpuUsageSeconds") === undefined ? undefined : rates.cpuCores,
      periodsTotal: value("cpuPeriods"),
      throttledPeriodsTotal: value("cpuThrottledPeriods"),
      throttledSecondsTotal: value("cpuThrottledSeconds"),
      pressureWaitingSecondsTotal: value("cpuWaitingSeconds"),
    }),
    memory: given({
      limitBytes: value("memoryLimitBytes"),
      usageBytes: value("memoryUsageBytes"),
      workingSetBytes: value("memoryWorkingSetBytes"),
      majorFaultsTotal: value("memoryMajorFaults"),
      refaultsTotal: value("memoryRefaults"),
      oomKillsTotal: value("memoryOomKills"),
      pressureWaitingSecondsTotal: value("memoryWaitingSeconds"),
    }),
    ...(Object.keys(io).length === 0 ? {} : { io }),
    interference,
    interferenceSecondsTotal: integrals(interference, (name) => values[INTEGRAL_COLUMN[name]]),
  };
}

/** Only of the components that have a value: what nothing tells has no mean either. */
function integrals(
  { cpu, memoryCapacity, memoryBandwidth, network }: Interference,
  of: (name: InterferenceName) => number | undefined,
): InterferenceSeconds {
  const told = (component: InterferenceComponent, name: InterferenceName): number | undefined =>
    component.value === undefined ? undefined : of(name);
  return given({
    cpu: told(cpu, "cpu"),
    memoryCapacity: told(memoryCapacity, "memoryCapacity"),
    memoryBandwidth: told(memoryBandwidth, "memoryBandwidth"),
    network: told(network, "network"),
  });
}

type WithoutAbsent<T> = { [Key in keyof T]?: Exclude<T[Key], undefined> };

/** Without the absent parts: absent is absent on the wire, too. */
function given<T extends object>(parts: T): WithoutAbsent<T> {
  return Object.fromEntries(
    Object.entries(parts).filter(([, part]) => part !== undefined),
  ) as WithoutAbsent<T>;
}

/** The snapshot as JSON in chunks, so that thousands of containers are never one string in memory. */
export function* renderSnapshot(input: SnapshotInput): Generator<string> {
  const head = JSON.stringify(snapshotHead(input));
  let chunk = `${head.slice(0, -1)},"containers":[`;
  let isFirst = true;
  for (const container of input.containers) {
    const sample = containerSample(container, input.seconds);
    if (sample === undefined) continue;
    chunk += isFirst ? JSON.stringify(sample) : `,${JSON.stringify(sample)}`;
    isFirst = false;
    if (chunk.length > 32 * 1024) {
      yield chunk;
      chunk = "";
    }
  }
  yield `${chunk}]}\n`;
}
