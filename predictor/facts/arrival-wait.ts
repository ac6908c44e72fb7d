import type { Window } from "@tradewind/core/contract/window.ts";

/**
 * Mean time from a caller's call until the callee's handler ran, network included, by callee, seconds; weighted by calls.
 * A service is absent when no call to it was seen from both sides.
 */
export function arrivalWaitSeconds(windows: readonly Window[]): ReadonlyMap<string, number> {
  const sums = new Map<string, { calls: number; waiting: number }>();
  for (const { callees } of windows) {
    for (const { callee, callsPerSecond, transitSeconds } of callees) {
      if (transitSeconds === undefined || callsPerSecond <= 0) continue;
      const sum = sums.get(callee) ?? { calls: 0, waiting: 0 };
      sum.calls += callsPerSecond;
      sum.waiting += callsPerSecond * transitSeconds;
      sums.set(callee, sum);
    }
  }
  return new Map([...sums].map(([callee, { calls, waiting }]) => [callee, waiting / calls]));
}
