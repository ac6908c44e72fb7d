import type { SampleTime } from "../../sampling/sample-time.ts";
import { processFolders } from "../../cgroup/process-folders.ts";
import { malformed } from "../../parse/malformed.ts";
import { parseNetDev } from "../../parse/net-dev.ts";
import type { NetDev } from "../../parse/net-dev.ts";
import { unsignedAt } from "../../parse/number.ts";
import { AbsentSource } from "../../read/file-error.ts";
import type { HeldFile, Reader } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import type { Probe } from "./probe.ts";

/** Traffic of a pod's own network namespace. */
export interface PodTraffic {
  /** @param seconds monotonic time of the read */
  noteTraffic(receivedBytes: number, sentBytes: number, seconds: number): void;
}

const SCHEDULE: SignalOptions = {
  kind: "counter",
  tolerance: 1.25e6,
  channels: CHANNEL.network,
  costSeconds: 20e-6,
};

/** A namespace with so many of the node's interfaces is the node's; others' veth pairs come and go between two reads. */
const NODE_SHARE = 0.8;

export interface NetworkSource {
  readonly reader: Reader;
  readonly procfs: string;
  /** Interfaces of the node itself. */
  readonly nodeInterfaces: ReadonlySet<string>;
  /** A cgroup of the pod that holds processes; undefined when there is none. */
  readonly folder: () => string | undefined;
  readonly traffic: PodTraffic;
}

/**
 * What a pod sends and receives: `/proc/PID/net/dev` of one of its processes. A pod on the node's own network shows the
 * node's interfaces; then nothing is its own, and the source counts as absent.
 */
export class NetworkProbe implements Probe {
  readonly name = "network";
  readonly schedule = SCHEDULE;
  /** It writes the pod's. */
  readonly fills = [];
  readonly #source: NetworkSource;
  #file: HeldFile | undefined;

  constructor(source: NetworkSource) {
    this.#source = source;
  }

  /** @throws AbsentSource for a pod on the node's network, without processes, or whose processes are hidden from us */
  read({ seconds }: SampleTime): number {
    const devices = this.#devices();
    const { nodeInterfaces, traffic } = this.#source;
    const shared = devices.filter(({ device }) => nodeInterfaces.has(device)).length;
    if (shared > 1 && shared >= nodeInterfaces.size * NODE_SHARE) {
      throw new AbsentSource("a network namespace of its own");
    }
    let received = 0;
    let sent = 0;
    for (const { device, receivedBytes, sentBytes } of devices) {
      if (device === "lo") continue;
      received += receivedBytes;
      sent += sentBytes;
    }
    traffic.noteTraffic(received, sent, seconds);
    return received + sent;
  }

  close(): void {
    this.#file?.close();
  }

  #devices(): NetDev[] {
    if (this.#file !== undefined) {
      try {
        return parseNetDev(this.#file.text());
      } catch {
        // The process ended; another one of the pod will do.
        this.#file.close();
      }
    }
    const { reader, procfs } = this.#source;
    this.#file = reader.list(`${procfs}/${this.#firstProcess()}/net`, "dev");
    return parseNetDev(this.#file.text());
  }

  #firstProcess(): number {
    const { folder, reader } = this.#source;
    const cgroup = folder();
    if (cgroup === undefined) throw new AbsentSource("a container in the pod");
    for (const folder of processFolders(cgroup)) {
      const processes = reader.list(folder, "cgroup.procs");
      const text = processes.text();
      processes.close();
      if (text.trim() === "") continue;
      const pid = unsignedAt(text, 0);
      if (Number.isNaN(pid)) throw malformed("cgroup.procs", text);
      // Processes outside the reader's own process namespace are listed as 0.
      if (pid === 0) throw new AbsentSource("the pod's processes (hostPID)");
      return pid;
    }
    throw new AbsentSource("a process in the pod");
  }
}
