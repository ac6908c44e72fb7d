import { COLUMN } from "./columns.ts";
import type { ProbeTarget } from "./probes/probe.ts";

/** CPU use that does not matter of a container that may take a core or more, or as much as it likes; cores. */
export const CPU_TOLERANCE_CORES = 0.05;
/** Below a core it is this part of the limit: what fills a small container is a small movement. */
const LIMIT_RATIO = 0.05;
/** What the timers of an idle runtime take; cores. */
const LEAST_CORES = 0.002;

/** CPU use that does not matter, by the container's limit as last read; cores. */
export function cpuToleranceCores({ values }: ProbeTarget): number {
  const limitCores = values[COLUMN.cpuLimitCores] ?? Number.NaN;
  if (!(limitCores > 0)) return CPU_TOLERANCE_CORES;
  return Math.min(CPU_TOLERANCE_CORES, Math.max(LEAST_CORES, LIMIT_RATIO * limitCores));
}
