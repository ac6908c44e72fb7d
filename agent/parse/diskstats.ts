import { secondsFromMillis } from "@tradewind/core/values/units.ts";
import { malformed } from "./malformed.ts";
import { fields, unsigned } from "./number.ts";

/** One whole block device, cumulative. A sector is 512 bytes whatever the device says. */
export interface DiskStats {
  readonly device: string;
  readonly reads: number;
  readonly readBytes: number;
  readonly readSeconds: number;
  readonly writes: number;
  readonly writtenBytes: number;
  readonly writeSeconds: number;
  readonly inFlight: number;
  /** Time with at least one request in flight. */
  readonly ioSeconds: number;
  /** Time weighted by requests in flight: its rate is the mean queue length. */
  readonly weightedIoSeconds: number;
}

const SECTOR_BYTES = 512;
const PARTITION_OR_VIRTUAL =
  /^(?:(?:loop|ram|zram|fd|sr|nbd)\d+|(?:h|s|v|xv)d[a-z]+\d+|(?:nvme\d+n\d+|mmcblk\d+)p\d+)$/;

function parseLine(line: string, text: string): DiskStats | undefined {
  const parts = fields(line);
  const device = parts[2];
  if (device === undefined || parts.length < 14) throw malformed("/proc/diskstats", text);
  if (PARTITION_OR_VIRTUAL.test(device)) return undefined;
  const numbers = parts.slice(3, 14).map(unsigned);
  if (numbers.some(Number.isNaN)) throw malformed("/proc/diskstats", line);
  const [reads, , sectorsRead, readMs, writes, , sectorsWritten, writeMs, inFlight, ioMs, weightedMs] =
    numbers as [number, number, number, number, number, number, number, number, number, number, number];
  return {
    device,
    reads,
    readBytes: sectorsRead * SECTOR_BYTES,
    readSeconds: secondsFromMillis(readMs),
    writes,
    writtenBytes: sectorsWritten * SECTOR_BYTES,
    writeSeconds: secondsFromMillis(writeMs),
    inFlight,
    ioSeconds: secondsFromMillis(ioMs),
    weightedIoSeconds: secondsFromMillis(weightedMs),
  };
}

/**
 * `/proc/diskstats` (Documentation/admin-guide/iostats.rst), whole devices only: partitions, loop and RAM disks would
 * count the same request twice.
 *
 *     254       0 vda 54736 8464 3257722 23681 20426 62090 4976280 12864 0 15708 38650
 * @throws TradewindError `malformed-file` naming the line
 */
export function parseDiskStats(text: string): DiskStats[] {
  const disks: DiskStats[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const disk = parseLine(line, text);
    if (disk !== undefined) disks.push(disk);
  }
  return disks;
}
