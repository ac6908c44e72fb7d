import { parseBlkio, parseIoStat } from "../../parse/cgroup-files.ts";
import { AbsentSource } from "../../read/file-error.ts";
import { OptionalFile } from "../../read/optional-file.ts";
import type { HeldFile } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import type { ContainerColumn } from "../columns.ts";
import { put } from "./probe.ts";
import type { CgroupPlace, Probe, ProbeTarget } from "./probe.ts";

const SCHEDULE: SignalOptions = {
  kind: "counter",
  tolerance: 4 * 1024 * 1024,
  channels: CHANNEL.io,
};

const FILLS: readonly ContainerColumn[] = ["ioReadBytes", "ioWrittenBytes", "ioReads", "ioWrites"];

/**
 * Cumulative values summed over devices, so that no sum ever falls: a device that goes leaves what it counted, and one whose
 * count begins afresh adds it. Devices on top of others, such as LVM's, count beside those below them, as in the kernel.
 */
class DeviceSums {
  readonly #last = new Map<string, readonly number[]>();
  readonly #sums: number[] = [];

  /** @param values of the device as read, in the order of the sums */
  add(device: string, values: readonly number[]): void {
    const last = this.#last.get(device);
    this.#last.set(device, values);
    for (const [index, value] of values.entries()) {
      const before = last?.[index] ?? 0;
      this.#sums[index] = this.sum(index) + (value < before ? value : value - before);
    }
  }

  /** 0 before the first device. */
  sum(index: number): number {
    return this.#sums[index] ?? 0;
  }
}

export function ioProbe(place: CgroupPlace, target: ProbeTarget): Probe {
  return place.hierarchies.mode === "v2" ? new UnifiedIo(place, target) : new SplitIo(place, target);
}

/** v2 `io.stat`. */
class UnifiedIo implements Probe {
  readonly name = "io";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  readonly #stat: HeldFile;
  readonly #target: ProbeTarget;
  readonly #sums = new DeviceSums();

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    this.#stat = reader.file(`${hierarchies.unified ?? ""}${path}`, "io.stat");
    this.#target = target;
  }

  read(): number {
    for (const [device, { readBytes, writtenBytes, reads, writes }] of parseIoStat(this.#stat.text())) {
      this.#sums.add(device, [readBytes, writtenBytes, reads, writes]);
    }
    put(this.#target, "ioReadBytes", this.#sums.sum(0));
    put(this.#target, "ioWrittenBytes", this.#sums.sum(1));
    put(this.#target, "ioReads", this.#sums.sum(2));
    put(this.#target, "ioWrites", this.#sums.sum(3));
    return this.#sums.sum(0) + this.#sums.sum(1);
  }

  close(): void {
    this.#stat.close();
  }
}

/** @returns what was read and written on all devices so far */
function addBlkio(sums: DeviceSums, text: string): readonly number[] {
  for (const [device, { read, write }] of parseBlkio(text)) sums.add(device, [read, write]);
  return [sums.sum(0), sums.sum(1)];
}

/** v1 `blkio.throttle.*_recursive`. */
class SplitIo implements Probe {
  readonly name = "io";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  readonly #isThere: boolean;
  readonly #bytes: HeldFile;
  readonly #operations: OptionalFile;
  readonly #target: ProbeTarget;
  readonly #byteSums = new DeviceSums();
  readonly #operationSums = new DeviceSums();

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    const folder = `${hierarchies.blkio ?? ""}${path}`;
    this.#isThere = hierarchies.blkio !== undefined;
    this.#bytes = reader.file(folder, "blkio.throttle.io_service_bytes_recursive");
    this.#operations = new OptionalFile(reader.file(folder, "blkio.throttle.io_serviced_recursive"));
    this.#target = target;
  }

  read(): number {
    if (!this.#isThere) throw new AbsentSource("the blkio controller");
    const [readBytes = 0, writtenBytes = 0] = addBlkio(this.#byteSums, this.#bytes.text());
    put(this.#target, "ioReadBytes", readBytes);
    put(this.#target, "ioWrittenBytes", writtenBytes);
    const text = this.#operations.text();
    const [reads, writes] = text === undefined ? [] : addBlkio(this.#operationSums, text);
    put(this.#target, "ioReads", reads);
    put(this.#target, "ioWrites", writes);
    return readBytes + writtenBytes;
  }

  close(): void {
    this.#bytes.close();
    this.#operations.close();
  }
}
