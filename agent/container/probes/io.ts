import { parseBlkio, parseIoStat } from "../../parse/cgroup-files.ts";
import { AbsentSource } from "../../read/file-error.ts";
import { OptionalFile } from "../../read/optional-file.ts";
import type { HeldFile } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { ContainerColumn } from "../columns.ts";
import { put } from "./probe.ts";
import type { CgroupPlace, Probe, ProbeSchedule, ProbeTarget } from "./probe.ts";

const SCHEDULE: ProbeSchedule = {
  kind: "counter",
  tolerance: 4 * 1024 * 1024,
  channels: CHANNEL.io,
  pruning: "sum",
};

const FILLS: readonly ContainerColumn[] = ["ioReadBytes", "ioWrittenBytes", "ioReads", "ioWrites"];

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

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    this.#stat = reader.file(`${hierarchies.unified ?? ""}${path}`, "io.stat");
    this.#target = target;
  }

  read(): number {
    const { readBytes, writtenBytes, reads, writes } = parseIoStat(this.#stat.text());
    put(this.#target, "ioReadBytes", readBytes);
    put(this.#target, "ioWrittenBytes", writtenBytes);
    put(this.#target, "ioReads", reads);
    put(this.#target, "ioWrites", writes);
    return readBytes + writtenBytes;
  }

  close(): void {
    this.#stat.close();
  }
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

  constructor({ reader, hierarchies, path }: CgroupPlace, target: ProbeTarget) {
    const folder = `${hierarchies.blkio ?? ""}${path}`;
    this.#isThere = hierarchies.blkio !== undefined;
    this.#bytes = reader.file(folder, "blkio.throttle.io_service_bytes_recursive");
    this.#operations = new OptionalFile(reader.file(folder, "blkio.throttle.io_serviced_recursive"));
    this.#target = target;
  }

  read(): number {
    if (!this.#isThere) throw new AbsentSource("the blkio controller");
    const moved = parseBlkio(this.#bytes.text());
    put(this.#target, "ioReadBytes", moved.read);
    put(this.#target, "ioWrittenBytes", moved.write);
    const text = this.#operations.text();
    const counted = text === undefined ? undefined : parseBlkio(text);
    put(this.#target, "ioReads", counted?.read);
    put(this.#target, "ioWrites", counted?.write);
    return moved.read + moved.write;
  }

  close(): void {
    this.#bytes.close();
    this.#operations.close();
  }
}
