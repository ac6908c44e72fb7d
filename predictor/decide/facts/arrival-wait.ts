import type { LatencySummary, Window } from "@tradewind/core/contract/window.ts";
import { throttledShare } from "./demand.ts";

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

/**
 * Windows in which what callers wait before a throttled service's handler runs is self time of that service: at a limit of a few
 * milliseconds a period nearly all of a request's wait is there, and its own spans show none of it. Where the caller is throttled too
 * each has its share of the wait. A wait for a service with CPU left stays what it is: the network, or a handler that cannot accept.
 * @param leastRatio share of throttled CPU time up to which a service keeps none of the requests waiting that an objective judges
 */
export function withThrottledWaits(windows: readonly Window[], leastRatio: number): readonly Window[] {
  const shares = new Map(windows.map((window) => [window.service, throttledShare(window)]));
  const waits = new Map<string, { calls: number; waiting: number }>();
  for (const { callees, service } of windows) {
    for (const { callee, callsPerSecond, transitSeconds = 0 } of callees) {
      const share = shares.get(callee) ?? 0;
      const sum = waits.get(callee) ?? { calls: 0, waiting: 0 };
      const ofCallee = share > leastRatio ? share / (share + (shares.get(service) ?? 0)) : 0;
      sum.calls += callsPerSecond;
      sum.waiting += callsPerSecond * transitSeconds * ofCallee;
      waits.set(callee, sum);
    }
  }
  return windows.map((window) => {
    const { calls = 0, waiting = 0 } = waits.get(window.service) ?? {};
    const { ownLatency } = window;
    return waiting > 0 && ownLatency !== undefined
      ? { ...window, ownLatency: laterBy(ownLatency, waiting / calls) }
      : window;
  });
}

/** Of a wait no more than its mean is known: it is taken for exponential. */
function laterBy(latency: LatencySummary, meanSeconds: number): LatencySummary {
  const quantile = (probability: number): number => -meanSeconds * Math.log1p(-probability);
  return {
    ...latency,
    meanSeconds: latency.meanSeconds + meanSeconds,
    p50Seconds: latency.p50Seconds + quantile(0.5),
    p95Seconds: latency.p95Seconds + quantile(0.95),
    p99Seconds: latency.p99Seconds + quantile(0.99),
  };
}
