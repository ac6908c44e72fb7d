import { COLUMN } from "../columns.ts";
import type { ContainerColumn } from "../columns.ts";
import type { ProbeTarget } from "./probe.ts";

/** What fills a small container is a small movement: of a limit this part matters. */
const LIMIT_RATIO = 0.05;

/** CPU use that does not matter of a container that may take a core or more, or as much as it likes; cores. */
export const CPU_TOLERANCE_CORES = 0.05;
/** What the timers of an idle runtime take; cores. */
const LEAST_CORES = 0.002;

/** Memory that does not matter of a container that may take 640 MiB or more, or as much as it likes. */
export const MEMORY_TOLERANCE_BYTES = 32 * 1024 * 1024;
/** What the allocator of a runtime takes and gives back as it goes. */
const LEAST_BYTES = 1024 * 1024;

/** CPU use that does not matter, by the container's limit as last read; cores. */
export function cpuToleranceCores(target: ProbeTarget): number {
  return ofLimit(target, "cpuLimitCores", LEAST_CORES, CPU_TOLERANCE_CORES);
}

/** Movement of memory that does not matter, by the container's limit as last read. */
export function memoryToleranceBytes(target: ProbeTarget): number {
  return ofLimit(target, "memoryLimitBytes", LEAST_BYTES, MEMORY_TOLERANCE_BYTES);
}

function ofLimit({ values }: ProbeTarget, column: ContainerColumn, least: number, most: number): number {
  const limit = values[COLUMN[column]] ?? Number.NaN;
  return limit > 0 ? Math.min(most, Math.max(least, LIMIT_RATIO * limit)) : most;
}
