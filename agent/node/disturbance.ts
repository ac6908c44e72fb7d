import type { Interference } from "@tradewind/core/contract/interference.ts";
import { COLUMN, INTEGRAL_COLUMN, INTERFERENCE_COLUMN } from "../container/columns.ts";
import type { Container } from "../container/container.ts";
import { Table } from "../expose/table.ts";
import { COMPONENTS, interference } from "@tradewind/core/measure/interference.ts";
import type { NodeUse, OwnUse } from "@tradewind/core/measure/interference.ts";
import type { Signals } from "../sampling/signals.ts";

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
    linkUsedBytesPerSecond: signals.get("network.busiestLinkBytesPerSecond"),
    linkBytesPerSecond: signals.get("network.busiestLinkSpeedBytesPerSecond"),
    dropRatio: signals.get("network.dropRatio"),
    packetsPerSecond: signals.get("network.packetsPerSecond"),
    retransmitRatio: signals.get("network.retransmitRatio"),
    sentSegmentsPerSecond: signals.get("network.sentSegmentsPerSecond"),
  };
}

/**
 * What a container used over its last sampling intervals.
 * @param bandwidth memory bandwidth by resctrl group
 */
export function ownUse(
  { id, rates, values: own, pod, found }: Container,
  bandwidth: ReadonlyMap<string, number>,
): OwnUse {
  // The use of a sandbox does not disturb the containers in it.
  const values = found?.countedIn === "shared" && pod !== undefined ? pod.values : own;
  const memoryBytes = values[COLUMN.memoryWorkingSetBytes];
  return {
    cpuCores: rates.cpuCores,
    cpuWaitRatio: rates.cpuWaitRatio,
    throttledRatio: rates.throttledRatio,
    memoryBytes: memoryBytes === undefined || Number.isNaN(memoryBytes) ? undefined : memoryBytes,
    memoryWaitRatio: rates.memoryWaitRatio,
    bandwidthBytesPerSecond: ownBandwidth(id, bandwidth),
    receivedBytesPerSecond: pod?.receivedBytesPerSecond,
    sentBytesPerSecond: pod?.sentBytesPerSecond,
  };
}

/** runc makes a resctrl group of the container's id; without one its bandwidth is not known apart. */
function ownBandwidth(id: string, bandwidth: ReadonlyMap<string, number>): number | undefined {
  if (bandwidth.size === 0) return undefined;
  let sum: number | undefined;
  for (const [group, rate] of bandwidth) if (group.includes(id)) sum = (sum ?? 0) + rate;
  return sum;
}

const COLUMNS = [
  {
    name: "tradewind_node_interference_ratio",
    help: "How far the node is taken by component, 0 undisturbed to 1 fully taken; absent where nothing tells.",
    kind: "gauge",
  },
  {
    name: "tradewind_node_interference_supported",
    help: "1 when a source on this node can tell the component.",
    kind: "gauge",
  },
  {
    name: "tradewind_node_interference_seconds_total",
    help: "Integral of the ratio over time: its rate is the mean.",
    kind: "counter",
  },
] as const;

/** Movement of a component of the node after which the interference of all its containers is worked out anew. */
const NODE_MOVED_RATIO = 0.05;

/** The interference of the node and of every container: worked out anew when what it follows from moved. */
export class Disturbance {
  readonly table = new Table(COLUMNS);
  readonly #signals: Signals;
  readonly #bandwidth: ReadonlyMap<string, number>;
  readonly #integral = new Float64Array(COMPONENTS.length);
  #node: Interference;
  #nodeSeconds: number | undefined;
  /** The node's vector by which all containers were worked out last. */
  #basis: Interference | undefined;

  /** @param bandwidth memory bandwidth by resctrl group, kept up to date by its collector */
  constructor(signals: Signals, bandwidth: ReadonlyMap<string, number>) {
    this.#signals = signals;
    this.#bandwidth = bandwidth;
    this.#node = interference(nodeUse(signals));
  }

  get node(): Interference {
    return this.#node;
  }

  /** False before the first look: what is supported is not known then. */
  get hasLooked(): boolean {
    return this.#basis !== undefined;
  }

  /** Integrals of the node's components in seconds, in the order of the components. */
  get nodeIntegral(): Float64Array {
    return this.#integral;
  }

  /**
   * Looks at the node, and at every container that was read since, or at all of them when the node moved.
   * @param seconds monotonic time
   */
  look(containers: Iterable<Container>, seconds: number): void {
    const use = nodeUse(this.#signals);
    const now = interference(use);
    this.#accrue(seconds);
    this.#node = now;
    const all = this.#basis === undefined || hasMoved(this.#basis, now);
    if (all) this.#basis = now;
    for (const container of containers) {
      if (container.lastRead !== undefined && (all || container.changed))
        this.#evaluate(use, container, seconds);
    }
  }

  /** Works out everything for a reader who asks now. */
  refresh(containers: Iterable<Container>, seconds: number): void {
    this.#accrue(seconds);
    const use = nodeUse(this.#signals);
    for (const container of containers) this.#evaluate(use, container, seconds);
    for (const [index, component] of COMPONENTS.entries()) {
      const { supported, value } = this.#node[component];
      const integral = value === undefined ? Number.NaN : (this.#integral[index] ?? Number.NaN);
      this.table.row(component, { component }).values.set([value ?? Number.NaN, supported ? 1 : 0, integral]);
    }
  }

  #accrue(seconds: number): void {
    const elapsed = this.#nodeSeconds === undefined ? 0 : Math.max(0, seconds - this.#nodeSeconds);
    this.#nodeSeconds = seconds;
    for (const [index, name] of COMPONENTS.entries()) {
      this.#integral[index] = (this.#integral[index] ?? 0) + (this.#node[name].value ?? 0) * elapsed;
    }
  }

  /** Works out a container's interference and carries its integrals on. */
  #evaluate(use: NodeUse, container: Container, seconds: number): void {
    const elapsed = container.evaluatedSeconds === undefined ? 0 : seconds - container.evaluatedSeconds;
    const before = container.interference;
    const now = interference(use, ownUse(container, this.#bandwidth));
    for (const name of COMPONENTS) {
      const value = now[name].value;
      container.values[INTERFERENCE_COLUMN[name]] = value ?? Number.NaN;
      const held = container.values[INTEGRAL_COLUMN[name]];
      const integral = held === undefined || Number.isNaN(held) ? 0 : held;
      const gained = (before?.[name].value ?? 0) * Math.max(0, elapsed);
      if (value !== undefined || integral > 0) container.values[INTEGRAL_COLUMN[name]] = integral + gained;
    }
    container.changed = false;
    container.interference = now;
    container.evaluatedSeconds = seconds;
  }
}

/** A component that comes or goes has moved, too. */
function hasMoved(before: Interference, now: Interference): boolean {
  return COMPONENTS.some((name) => {
    const a = before[name].value;
    const b = now[name].value;
    return a === undefined || b === undefined ? a !== b : Math.abs(a - b) > NODE_MOVED_RATIO;
  });
}
