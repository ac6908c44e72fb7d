import { parseSingle } from "../parse/cgroup-files.ts";
import type { NetDev } from "../parse/net-dev.ts";
import { readFailure } from "../read/file-error.ts";
import type { HeldFile } from "../read/reader.ts";
import type { Source } from "./collector.ts";

/** Files of `/sys/class/net/DEVICE/statistics`. The list of all interfaces counts missed frames among those dropped. */
const FILES = [
  "rx_bytes",
  "rx_packets",
  "rx_errors",
  "rx_dropped",
  "rx_missed_errors",
  "tx_bytes",
  "tx_packets",
  "tx_errors",
  "tx_dropped",
] as const;

/** Counters of a few interfaces: the list of all is long on a node with thousands of veth pairs. */
export class LinkStatistics {
  readonly #source: Pick<Source, "reader" | "sysfs">;
  readonly #files = new Map<string, readonly HeldFile[]>();

  constructor(source: Pick<Source, "reader" | "sysfs">) {
    this.#source = source;
  }

  /** Takes the interfaces to read. */
  retain(devices: ReadonlySet<string>): void {
    for (const [device, files] of this.#files) {
      if (devices.has(device)) continue;
      for (const file of files) file.close();
      this.#files.delete(device);
    }
    const { reader, sysfs } = this.#source;
    for (const device of devices) {
      if (this.#files.has(device)) continue;
      const folder = `${sysfs}/class/net/${device}/statistics`;
      this.#files.set(
        device,
        FILES.map((name) => reader.file(folder, name)),
      );
    }
  }

  /**
   * @returns undefined without such files: an interface went, or this is not the sysfs of the node
   * @throws the system's error or `malformed-file`
   */
  read(): NetDev[] | undefined {
    try {
      return [...this.#files].map(([device, files]) => netDev(device, files));
    } catch (error) {
      if (readFailure(error) === "absent") return undefined;
      throw error;
    }
  }
}

function netDev(device: string, files: readonly HeldFile[]): NetDev {
  const values = files.map((file) => parseSingle(file.text()));
  const counter = (name: (typeof FILES)[number]): number => values[FILES.indexOf(name)] ?? Number.NaN;
  return {
    device,
    receivedBytes: counter("rx_bytes"),
    receivedPackets: counter("rx_packets"),
    receiveErrors: counter("rx_errors"),
    receiveDrops: counter("rx_dropped") + counter("rx_missed_errors"),
    sentBytes: counter("tx_bytes"),
    sentPackets: counter("tx_packets"),
    sendErrors: counter("tx_errors"),
    sendDrops: counter("tx_dropped"),
  };
}
