import { TradewindError } from "@tradewind/core/values/errors.ts";
import type { SampleTime } from "../../sampling/sample-time.ts";
import { parseProcessIo, parseProcessStat, parseResidentBytes } from "../../parse/process-files.ts";
import { readFailure } from "../../read/file-error.ts";
import type { HeldFile, Reader } from "../../read/reader.ts";
import { CHANNEL } from "../../sampling/signal.ts";
import type { SignalOptions } from "../../sampling/signal.ts";
import type { ContainerColumn } from "../columns.ts";
import { CPU_TOLERANCE_CORES } from "./tolerance.ts";
import { put } from "./probe.ts";
import type { Probe, ProbeTarget } from "./probe.ts";

/** Thrown when the process ended, or its id now belongs to another one. */
export class ProcessGone extends TradewindError {
  constructor(pid: number) {
    super("process-gone", `process ${pid} ended`);
    this.name = "ProcessGone";
  }
}

const SCHEDULE: SignalOptions = {
  kind: "counter",
  tolerance: CPU_TOLERANCE_CORES,
  maxSeconds: 5,
  channels: CHANNEL.cpu | CHANNEL.memory,
};

const FILLS: readonly ContainerColumn[] = [
  "cpuUsageSeconds",
  "memoryMajorFaults",
  "memoryUsageBytes",
  "memoryWorkingSetBytes",
  "ioReadBytes",
  "ioWrittenBytes",
];

/** A bare process in the place of a container: `/proc/PID/{stat,status,io}`. Its children are not counted. */
export class ProcessProbe implements Probe {
  readonly name = "process";
  readonly schedule = SCHEDULE;
  readonly fills = FILLS;
  readonly #pid: number;
  readonly #stat: HeldFile;
  readonly #status: HeldFile;
  readonly #io: HeldFile;
  readonly #target: ProbeTarget;
  #startTicks: number | undefined;

  constructor(reader: Reader, procfs: string, pid: number, target: ProbeTarget) {
    const folder = `${procfs}/${pid}`;
    this.#pid = pid;
    this.#stat = reader.file(folder, "stat");
    this.#status = reader.file(folder, "status");
    this.#io = reader.file(folder, "io");
    this.#target = target;
  }

  /** @throws ProcessGone */
  read({ seconds }: SampleTime): number {
    const stat = parseProcessStat(this.#textOf(this.#stat));
    this.#startTicks ??= stat.startTicks;
    if (stat.startTicks !== this.#startTicks) throw new ProcessGone(this.#pid);
    const target = this.#target;
    put(target, "cpuUsageSeconds", stat.cpuSeconds);
    put(target, "memoryMajorFaults", stat.majorFaults);
    const residentBytes = parseResidentBytes(this.#textOf(this.#status));
    put(target, "memoryUsageBytes", residentBytes);
    put(target, "memoryWorkingSetBytes", residentBytes);
    this.#readIo();
    target.rates.cpu(stat.cpuSeconds, Number.NaN, seconds);
    return stat.cpuSeconds;
  }

  close(): void {
    this.#stat.close();
    this.#status.close();
    this.#io.close();
  }

  #textOf(file: HeldFile): string {
    try {
      return file.text();
    } catch (error) {
      if (readFailure(error) === "absent") throw new ProcessGone(this.#pid);
      throw error;
    }
  }

  /** Another user's process hides its I/O: those columns then stay absent. */
  #readIo(): void {
    let io: { readonly readBytes: number; readonly writtenBytes: number } | undefined;
    try {
      io = parseProcessIo(this.#io.text());
    } catch {
      io = undefined;
    }
    put(this.#target, "ioReadBytes", io?.readBytes);
    put(this.#target, "ioWrittenBytes", io?.writtenBytes);
  }
}
