import type { Table } from "../expose/table.ts";
import type { SampleTime } from "../sampling/sample-time.ts";
import type { Reader } from "../read/reader.ts";
import type { SignalOptions } from "../sampling/signal.ts";
import type { Signals } from "../sampling/signals.ts";

/** Where a collector reads; the roots are those of the node, not of the agent's own container. */
export interface Source {
  readonly reader: Reader;
  readonly procfs: string;
  readonly sysfs: string;
  /** Link speeds the user states, bytes per second by interface; they win over what the driver says. */
  readonly linkBytesPerSecond: ReadonlyMap<string, number>;
  /** Peak memory bandwidth of the node in bytes per second, when the user states it. */
  readonly memoryBandwidthBytesPerSecond: number | undefined;
}

/** Where a sample goes. */
export interface Sink {
  readonly signals: Signals;
  /** Names of all network interfaces of the node. */
  readonly interfaces: Set<string>;
  /** Memory bandwidth in bytes per second by resctrl group, empty without resctrl. */
  readonly bandwidth: Map<string, number>;
  /** Says that something moved on these channels, so that containers are looked at now. */
  readonly wake: (channels: number) => void;
}

/** One kernel source, opened. */
export interface Collector {
  readonly tables: readonly Table[];
  /**
   * Reads the source once: counters into its tables, rates into the signals.
   * @returns the value by which the sampling controller judges how often to read
   * @throws AbsentSource when this node has no such source; any other error when it could not be read
   */
  sample(time: SampleTime, sink: Sink): number;
  close(): void;
}

/** How to make a collector; see agent/collectors/list.ts. */
export interface CollectorDefinition {
  /** Value of the `collector` label. */
  readonly name: string;
  readonly schedule: SignalOptions;
  readonly open: (source: Source) => Collector;
}

/** The guards: read every second whatever happens, so that they see a burst begin while everything else sleeps. */
export const EVERY_SECOND = { minSeconds: 1, maxSeconds: 1 } as const;
