import { shiftMemory } from "../decide/learn/state.ts";
import type { PolicyState } from "./state.ts";

/**
 * The state after the wall clock was set by so many ms: all its times as the clock would have said them then. What counts
 * from a time goes on to count as before, and nothing waits for a time that has moved away. No time gets under 0.
 */
export function shiftState(state: PolicyState, stepMs: number): PolicyState {
  const { cost, flows, futile, services, shrunkAtMs, windowEndMs } = state;
  const at = (ms: number): number => Math.max(0, ms + stepMs);
  return {
    ...state,
    ...(windowEndMs !== undefined && { windowEndMs: at(windowEndMs) }),
    ...(shrunkAtMs !== undefined && { shrunkAtMs: at(shrunkAtMs) }),
    ...(futile && { futile: { ...futile, untilMs: at(futile.untilMs) } }),
    ...(cost && { cost: shiftMemory(cost, at) }),
    ...(flows && {
      flows: flows.map(({ flow, latencies }) => ({
        flow,
        latencies: latencies.map((latency) => Object.assign({}, latency, { endMs: at(latency.endMs) })),
      })),
    }),
    services: services.map((memory) => {
      const { cpuUnmovedSinceMs: since, seenAtMs } = memory;
      const moved = { seenAtMs: at(seenAtMs), ...(since !== undefined && { cpuUnmovedSinceMs: at(since) }) };
      return Object.assign({}, memory, moved);
    }),
  };
}
