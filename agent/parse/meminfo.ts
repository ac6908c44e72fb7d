import { malformed } from "./malformed.ts";
import { unsignedAt } from "./number.ts";

/** Node memory in bytes. */
export interface MemInfo {
  readonly totalBytes: number;
  /** What can be allocated without swapping; estimated from free + file cache before Linux 3.14. */
  readonly availableBytes: number;
  readonly freeBytes: number;
  readonly cachedBytes: number | undefined;
  readonly dirtyBytes: number | undefined;
  readonly writebackBytes: number | undefined;
  readonly swapTotalBytes: number | undefined;
  readonly swapFreeBytes: number | undefined;
}

function bytesOf(text: string, key: string): number | undefined {
  const pattern = `${key}:`;
  let at = text.startsWith(pattern) ? 0 : text.indexOf(`\n${pattern}`) + 1;
  if (at === 0 && !text.startsWith(pattern)) return undefined;
  at += pattern.length;
  while (text.charCodeAt(at) === 32) at += 1;
  const kibibytes = unsignedAt(text, at);
  return Number.isNaN(kibibytes) ? undefined : kibibytes * 1024;
}

/**
 * `/proc/meminfo` (proc(5)): `MemTotal:       24684096 kB` a line.
 * @throws TradewindError `malformed-file` without MemTotal and MemFree
 */
export function parseMemInfo(text: string): MemInfo {
  const totalBytes = bytesOf(text, "MemTotal");
  const freeBytes = bytesOf(text, "MemFree");
  if (totalBytes === undefined || totalBytes === 0 || freeBytes === undefined) {
    throw malformed("/proc/meminfo", text);
  }
  const cachedBytes = bytesOf(text, "Cached");
  return {
    totalBytes,
    freeBytes,
    availableBytes: Math.min(totalBytes, bytesOf(text, "MemAvailable") ?? freeBytes + (cachedBytes ?? 0)),
    cachedBytes,
    dirtyBytes: bytesOf(text, "Dirty"),
    writebackBytes: bytesOf(text, "Writeback"),
    swapTotalBytes: bytesOf(text, "SwapTotal"),
    swapFreeBytes: bytesOf(text, "SwapFree"),
  };
}
