import { flatValue } from "./flat-keyed.ts";
import { malformed } from "./malformed.ts";
import { fields, unsigned } from "./number.ts";

const USER_HZ = 100;

export interface ProcessStat {
  readonly cpuSeconds: number;
  readonly majorFaults: number;
  /** Ticks after boot at which it started: tells a reused process id from the one that had it before. */
  readonly startTicks: number;
}

/**
 * `/proc/PID/stat` (proc(5)). The name in brackets may hold blanks and brackets, so fields count from the last `)`.
 *
 *     4213 (node (main)) S 1 4213 4213 0 -1 4194304 9120 0 3 0 152 31 0 0 20 0 11 0 8812 …
 * @throws TradewindError `malformed-file`
 */
export function parseProcessStat(text: string): ProcessStat {
  const after = fields(text.slice(text.lastIndexOf(")") + 1));
  const at = (field: number): number => unsigned(after[field - 3]);
  const majorFaults = at(12);
  const cpuSeconds = (at(14) + at(15)) / USER_HZ;
  const startTicks = at(22);
  if (Number.isNaN(majorFaults + cpuSeconds + startTicks)) throw malformed("/proc/PID/stat", text);
  return { cpuSeconds, majorFaults, startTicks };
}

/** Resident bytes from `/proc/PID/status`: `VmRSS:     47904 kB`; undefined for a kernel thread or a zombie. */
export function parseResidentBytes(text: string): number | undefined {
  const at = text.indexOf("\nVmRSS:");
  if (at < 0) return undefined;
  const digits = /^[ \t]*(\d+) kB/.exec(text.slice(at + "\nVmRSS:".length, at + 40));
  const kibibytes = unsigned(digits?.[1]);
  return Number.isNaN(kibibytes) ? undefined : kibibytes * 1024;
}

/** Bytes a process made the block layer move, from `/proc/PID/io`: `read_bytes: 4096`. */
export function parseProcessIo(text: string): { readBytes: number; writtenBytes: number } {
  const readBytes = flatValue(text, "read_bytes:");
  const writtenBytes = flatValue(text, "write_bytes:");
  if (readBytes === undefined || writtenBytes === undefined) throw malformed("/proc/PID/io", text);
  return { readBytes, writtenBytes };
}
