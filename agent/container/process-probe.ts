import { TradewindError } from "@tradewind/core/errors.ts";
import { parseProcessIo, parseProcessStat, parseResidentBytes } from "../parse/process-files.ts";
import { readFailure } from "../read/file-error.ts";
import type { HeldFile, Reader } from "../read/reader.ts";
import { CHANNEL } from "../sampling/signal.ts";
import type { ProbeTarget } from "./cgroup-probes.ts";
import { COLUMN } from "./columns.ts";
import type { Probe } from "./probe.ts";

/** Thrown when the process id now belongs to another process. */
export class ProcessGone extends TradewindError {
  constructor(pid: number) {
    super("process-gone", `process ${pid} ended`);
    this.name = "ProcessGone";
  }
}

/** A bare process in the place of a container: `/proc/PID/{stat,status,io}`. Its children are not counted. */
export function processProbe(reader: Reader, procfs: string, pid: number, target: ProbeTarget): Probe {
  const stat = reader.file(`${procfs}/${pid}/stat`);
  const status = reader.file(`${procfs}/${pid}/status`);
  const io = reader.file(`${procfs}/${pid}/io`);
  let startTicks: number | undefined;
  return {
    name: "process",
    schedule: { kind: "counter", tolerance: 0.05, maxSeconds: 5, channels: CHANNEL.cpu | CHANNEL.memory },
    read: ({ seconds }) => {
      const { values, rates } = target;
      const read = parseProcessStat(textOf(stat, pid));
      startTicks ??= read.startTicks;
      if (read.startTicks !== startTicks) throw new ProcessGone(pid);
      values[COLUMN.cpuUsageSeconds] = read.cpuSeconds;
      values[COLUMN.memoryMajorFaults] = read.majorFaults;
      const resident = parseResidentBytes(textOf(status, pid));
      values[COLUMN.memoryUsageBytes] = resident ?? Number.NaN;
      values[COLUMN.memoryWorkingSetBytes] = resident ?? Number.NaN;
      readIo(io, values);
      rates.cpu(read.cpuSeconds, undefined, seconds);
      return read.cpuSeconds;
    },
    close: () => {
      stat.close();
      status.close();
      io.close();
    },
  };
}

function textOf(file: HeldFile, pid: number): string {
  try {
    return file.text();
  } catch (error) {
    if (readFailure(error) === "absent") throw new ProcessGone(pid);
    throw error;
  }
}

/** Another user's process hides its I/O: those columns then stay absent. */
function readIo(file: HeldFile, values: Float64Array): void {
  try {
    const { readBytes, writtenBytes } = parseProcessIo(file.text());
    values[COLUMN.ioReadBytes] = readBytes;
    values[COLUMN.ioWrittenBytes] = writtenBytes;
  } catch {
    values[COLUMN.ioReadBytes] = Number.NaN;
    values[COLUMN.ioWrittenBytes] = Number.NaN;
  }
}
