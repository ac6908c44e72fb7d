import type { SampleTime } from "./sample-time.ts";

/** Node-level signals: name, and in which unit. Rates are means over the collector's last interval. */
export const NODE_SIGNALS = [
  /** CPUs in use by anyone, steal included in neither part. */
  "cpu.busyCores",
  "cpu.busyRatio",
  "cpu.cores",
  "cpu.iowaitRatio",
  "cpu.processesRunning",
  "cpu.stealRatio",
  "cpu.waitingCores",
  "disk.busyRatio",
  "disk.queueLength",
  "memory.allocationStallsPerSecond",
  "memory.availableBytes",
  "memory.bandwidthBytesPerSecond",
  "memory.bandwidthPeakBytesPerSecond",
  "memory.directScannedPagesPerSecond",
  "memory.majorFaultsPerSecond",
  "memory.refaultsPerSecond",
  "memory.totalBytes",
  "memory.usedRatio",
  /** Of the link used most of those whose speed is known: its busier direction, and its speed. */
  "network.busiestLinkBytesPerSecond",
  "network.busiestLinkSpeedBytesPerSecond",
  "network.dropRatio",
  "network.interfaces",
  "network.listenOverflowsPerSecond",
  /** Packets received, sent and dropped. */
  "network.packetsPerSecond",
  "network.receivedBytesPerSecond",
  "network.retransmitRatio",
  "network.sentBytesPerSecond",
  "network.sentSegmentsPerSecond",
  "pressure.cpu.someRatio",
  "pressure.io.fullRatio",
  "pressure.io.someRatio",
  "pressure.irq.fullRatio",
  "pressure.memory.fullRatio",
  "pressure.memory.someRatio",
] as const;
export type NodeSignalName = (typeof NODE_SIGNALS)[number];

export interface Signal {
  readonly value: number;
  readonly sampledAt: SampleTime;
}

/** The last value of every node signal. What could not be sampled is absent, never 0. */
export class Signals {
  readonly #values = new Map<NodeSignalName, Signal>();

  /** A value that is undefined or not finite removes the signal. */
  set(name: NodeSignalName, value: number | undefined, sampledAt: SampleTime): void {
    if (value === undefined || !Number.isFinite(value)) this.#values.delete(name);
    else this.#values.set(name, { value, sampledAt });
  }

  /** Forgets what was sampled before the monotonic time `seconds`: its source is gone. */
  forgetBefore(seconds: number): void {
    for (const [name, { sampledAt }] of this.#values) {
      if (sampledAt.seconds < seconds) this.#values.delete(name);
    }
  }

  get(name: NodeSignalName): number | undefined {
    return this.#values.get(name)?.value;
  }

  entries(): IterableIterator<[NodeSignalName, Signal]> {
    return this.#values.entries();
  }
}
