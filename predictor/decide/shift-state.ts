import { shiftMemory } from "./cost/learn/state.ts";
import type { MemoryPeak } from "./facts/state.ts";
import type { PolicyState } from "./state.ts";

const DAY_MS = 86_400_000;

/**
 * The state after the wall clock was set by so many ms: all its times as the clock would have said them then. What counts
 * from a time goes on to count as before, and nothing waits for a time that has moved away. No time gets under 0.
 */
export function shiftState(state: PolicyState, stepMs: number): PolicyState {
  const { cost, flows, futile, services, shrunkAtMs, windowEndMs } = state;
  const shifted = (ms: number): number => Math.max(0, ms + stepMs);
  return {
    ...state,
    ...(windowEndMs !== undefined && { windowEndMs: shifted(windowEndMs) }),
    ...(shrunkAtMs !== undefined && { shrunkAtMs: shifted(shrunkAtMs) }),
    ...(futile && { futile: { ...futile, untilMs: shifted(futile.untilMs) } }),
    ...(cost && { cost: shiftMemory(cost, shifted) }),
    ...(flows && {
      flows: flows.map(({ flow, latencies }) => ({
        flow,
        latencies: latencies.map((latency) => Object.assign({}, latency, { endMs: shifted(latency.endMs) })),
      })),
    }),
    services: services.map((memory) => {
      const { cpuUnmovedSinceMs: since, memoryPeaks, seenAtMs } = memory;
      return Object.assign({}, memory, {
        seenAtMs: shifted(seenAtMs),
        ...(since !== undefined && { cpuUnmovedSinceMs: shifted(since) }),
        ...(memoryPeaks && { memoryPeaks: shiftedPeaks(memoryPeaks, Math.round(stepMs / DAY_MS)) }),
      });
    }),
  };
}

/** Days that become the same, at the epoch, are one. */
function shiftedPeaks(peaks: readonly MemoryPeak[], days: number): MemoryPeak[] {
  const byDay = new Map<number, MemoryPeak>();
  for (const peak of peaks) {
    const day = Math.max(0, peak.day + days);
    const same = byDay.get(day) ?? { day, bytes: 0, windows: 0 };
    byDay.set(day, { day, bytes: Math.max(same.bytes, peak.bytes), windows: same.windows + peak.windows });
  }
  return [...byDay.values()];
}
