import type { Window } from "@tradewind/core/contract/window.ts";
import { mainContainers } from "@tradewind/core/measure/main-containers.ts";
import type { MemoryPeak } from "./state.ts";

const DAY_MS = 86_400_000;
/** Days whose peaks count, as in VPA: a peak that comes once a week is among them. */
const MOST_DAYS = 8;
/** A container that was killed for memory used at least its limit, and as much more as VPA adds. */
const AFTER_KILL = 1.2;
/** Windows before a peak is believed to be one: 5 minutes of 15 s. */
const TELLING_WINDOWS = 20;

/** The peaks of the last days in which memory was measured, newest first, after one more window. */
export function memoryPeaksAfter(
  peaksBefore: readonly MemoryPeak[],
  window: Window | undefined,
): readonly MemoryPeak[] {
  const used = window === undefined ? [] : mainContainers(window).flatMap((each) => usedBytes(each) ?? []);
  if (window === undefined || used.length === 0) return peaksBefore;
  const bytes = Math.max(...used);
  const day = Math.floor(window.endMs / DAY_MS);
  const [newest, ...older] = peaksBefore;
  if (newest === undefined || newest.day < day) {
    return [{ day, bytes, windows: 1 }, ...peaksBefore].slice(0, MOST_DAYS);
  }
  return [{ ...newest, bytes: Math.max(newest.bytes, bytes), windows: newest.windows + 1 }, ...older];
}

function usedBytes({
  memoryLimitBytes = 0,
  memoryWorkingSetBytes,
  oomKills = 0,
}: Window["containers"][number]): number | undefined {
  if (oomKills === 0) return memoryWorkingSetBytes;
  const most = Math.max(memoryWorkingSetBytes ?? 0, AFTER_KILL * memoryLimitBytes);
  return most > 0 ? most : undefined;
}

/**
 * Memory that a container needs: its highest peak and headroom above it, bytes. Never less than it has until enough windows
 * were seen. Undefined where its use is not known.
 * @param hasBytes what it has now; 0 where nothing is set
 * @param ratio need over peak
 */
export function memoryNeed(
  peaks: readonly MemoryPeak[],
  hasBytes: number,
  ratio: number,
): number | undefined {
  if (peaks.length === 0) return undefined;
  const needed = ratio * peaks.reduce((most, { bytes }) => Math.max(most, bytes), 0);
  const windows = peaks.reduce((sum, each) => sum + each.windows, 0);
  return windows < TELLING_WINDOWS ? Math.max(hasBytes, needed) : needed;
}
