import type { LatencySummary } from "@tradewind/core/contract/window.ts";

/** Outgoing calls of a service to one other, per second of the window. */
export interface OutgoingCalls {
  readonly callsPerSecond: number;
  /** Mean latency as the caller sees it. */
  readonly meanSeconds: number;
}

export interface OwnLatency {
  readonly latency: LatencySummary;
  /** What the numbers say about the calls: one after another, or (since they do not fit) at the same time. */
  readonly calls: "sequential" | "parallel";
}

/**
 * Own latency of a service of which only response latency is known, through the call graph.
 *
 * Of its mean the time spent waiting for others is taken off: per request Σ calls · mean when calls follow each other,
 * which is the least own time they allow. When that exceeds the response itself the calls must overlap; then only the
 * longest is taken off, which is the most own time they allow. Percentiles keep their ratio to the mean, so that a
 * service that calls no other has exactly its response latency. Derived, not measured: the window says so.
 * @returns undefined when even the longest call exceeds the response
 */
export function ownLatency(
  response: LatencySummary,
  requestsPerSecond: number,
  calls: readonly OutgoingCalls[],
): OwnLatency | undefined {
  if (!(requestsPerSecond > 0)) return undefined;
  const waits = calls.map((call) => (call.callsPerSecond / requestsPerSecond) * call.meanSeconds);
  const oneByOne = waits.reduce((sum, wait) => sum + wait, 0);
  if (oneByOne <= response.meanSeconds) {
    return { latency: scaled(response, response.meanSeconds - oneByOne), calls: "sequential" };
  }
  const longest = Math.max(...waits);
  if (waits.length < 2 || longest > response.meanSeconds) return undefined;
  return { latency: scaled(response, response.meanSeconds - longest), calls: "parallel" };
}

function scaled(response: LatencySummary, meanSeconds: number): LatencySummary {
  const ratio = response.meanSeconds === 0 ? 1 : meanSeconds / response.meanSeconds;
  return {
    count: response.count,
    meanSeconds,
    p50Seconds: response.p50Seconds * ratio,
    p95Seconds: response.p95Seconds * ratio,
    p99Seconds: response.p99Seconds * ratio,
  };
}
