import type { ContainerSize } from "./topology.ts";

/** Room above what is resident that a memory limit leaves: garbage, buffers, page tables. */
const MEMORY_HEADROOM_BYTES = 16 * 2 ** 20;
/** What is resident moves all the time; the limit that follows from it moves in these steps. */
const MEMORY_GRAIN_BYTES = 16 * 2 ** 20;

export const isSameSize = (a: ContainerSize, b: ContainerSize): boolean =>
  Math.abs(a.cpuCores - b.cpuCores) < 1e-9 && a.memoryBytes === b.memoryBytes;

/**
 * The size that a running replica can be given: what is wanted, but no memory limit below what is resident, which would
 * kill it or be refused (cgroup-v2.rst, `memory.max`; cgroup-v1/memory.rst, `memory.limit_in_bytes`). A limit that is
 * below it already is not raised on that account.
 */
export function applicableSize(
  wanted: ContainerSize,
  current: ContainerSize,
  residentBytes: number,
): ContainerSize {
  const neededBytes =
    Math.ceil((residentBytes + MEMORY_HEADROOM_BYTES) / MEMORY_GRAIN_BYTES) * MEMORY_GRAIN_BYTES;
  const leastBytes = Math.min(neededBytes, Math.max(current.memoryBytes, wanted.memoryBytes));
  return { cpuCores: wanted.cpuCores, memoryBytes: Math.max(wanted.memoryBytes, leastBytes) };
}
