import { malformed } from "./malformed.ts";
import { fields, unsigned, unsignedAt } from "./number.ts";

/** v1 writes "no limit" as the largest page-aligned 64-bit number, 2^63 - 4096 with 4-KiB pages. */
const V1_NO_LIMIT = 2 ** 62;

/**
 * A file that holds one unsigned number: memory.current, cpuacct.usage, memory.failcnt.
 * @throws TradewindError `malformed-file`
 */
export function parseSingle(text: string): number {
  const value = unsigned(text.trim());
  if (Number.isNaN(value)) throw malformed("a single number", text);
  return value;
}

/**
 * A limit in bytes: memory.max, memory.limit_in_bytes.
 * @returns undefined when there is no limit (`max`, or v1's largest number)
 * @throws TradewindError `malformed-file`
 */
export function parseLimitBytes(text: string): number | undefined {
  const trimmed = text.trim();
  if (trimmed === "max") return undefined;
  const bytes = parseSingle(trimmed);
  return bytes >= V1_NO_LIMIT || bytes === 0 ? undefined : bytes;
}

/**
 * v2 `cpu.max`: `50000 100000`, quota and period in microseconds, or `max 100000`.
 * @returns cores, undefined when there is no limit
 * @throws TradewindError `malformed-file`
 */
export function parseCpuMax(text: string): number | undefined {
  const [quota, period] = fields(text);
  if (quota === "max") return undefined;
  return cores(unsigned(quota), unsigned(period), text);
}

/**
 * v1 `cpu.cfs_quota_us` (−1: no limit) and `cpu.cfs_period_us`.
 * @returns cores, undefined when there is no limit
 * @throws TradewindError `malformed-file`
 */
export function parseCfsQuota(quotaText: string, periodText: string): number | undefined {
  if (quotaText.trim() === "-1") return undefined;
  return cores(unsigned(quotaText.trim()), unsigned(periodText.trim()), quotaText);
}

function cores(quota: number, period: number, text: string): number {
  if (!(quota > 0) || !(period > 0)) throw malformed("a CPU quota", text);
  return quota / period;
}

/** Bytes and operations of a cgroup on one device. */
export interface DeviceIo {
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

const NO_IO: DeviceIo = { readBytes: 0, writtenBytes: 0, reads: 0, writes: 0 };

/**
 * v2 `io.stat` by device (`MAJ:MIN`); an empty file means no I/O yet.
 *
 *     254:0 rbytes=12288 wbytes=0 rios=3 wios=0 dbytes=0 dios=0
 * @throws TradewindError `malformed-file`
 */
export function parseIoStat(text: string): Map<string, DeviceIo> {
  const devices = new Map<string, DeviceIo>();
  for (const line of text.split("\n")) {
    // Devices without statistics of their own are bare `MAJ:MIN`, several on one line, on some kernels.
    if (!line.includes("=")) {
      if (line !== "" && !/^\d+:\d+(?: +\d+:\d+)* *$/.test(line)) throw malformed("io.stat", line);
      continue;
    }
    const device = deviceOf(line);
    const io = devices.get(device) ?? NO_IO;
    devices.set(device, {
      readBytes: io.readBytes + keyed(line, " rbytes="),
      writtenBytes: io.writtenBytes + keyed(line, " wbytes="),
      reads: io.reads + keyed(line, " rios="),
      writes: io.writes + keyed(line, " wios="),
    });
  }
  return devices;
}

/** The word before the first that has a value; empty where it is no `MAJ:MIN`. */
function deviceOf(line: string): string {
  const before = line.slice(0, line.lastIndexOf(" ", line.indexOf("=")) + 1).trimEnd();
  const word = before.slice(before.lastIndexOf(" ") + 1);
  return /^\d+:\d+$/.test(word) ? word : "";
}

/** 0 without the key: the kernel leaves them all out while they are 0, even where the line has others (`cost.usage=`). */
function keyed(line: string, key: string): number {
  const at = line.indexOf(key);
  if (at < 0) return 0;
  const value = unsignedAt(line, at + key.length);
  if (Number.isNaN(value)) throw malformed("io.stat", line);
  return value;
}

/**
 * v1 `blkio.throttle.io_service_bytes[_recursive]` or `io_serviced` by device (`MAJ:MIN`).
 *
 *     254:0 Read 12288
 *     254:0 Write 0
 *     Total 12288
 * @throws TradewindError `malformed-file`
 */
export function parseBlkio(text: string): Map<string, { read: number; write: number }> {
  const devices = new Map<string, { read: number; write: number }>();
  let lines = 0;
  for (const line of text.split("\n")) {
    if (line === "") continue;
    lines += 1;
    const parts = fields(line);
    const value = unsigned(parts.at(-1));
    if (Number.isNaN(value)) throw malformed("blkio statistics", line);
    const [device = "", direction] = parts;
    if (direction !== "Read" && direction !== "Write") continue;
    const { read, write } = devices.get(device) ?? { read: 0, write: 0 };
    devices.set(
      device,
      direction === "Read" ? { read: read + value, write } : { read, write: write + value },
    );
  }
  if (lines === 0) throw malformed("blkio statistics", text);
  return devices;
}
