import { expect } from "vitest";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { SpanBatch } from "@tradewind/predictor/window/span.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import { BOUNDS_SECONDS } from "./traffic.ts";
import type { Traffic } from "./traffic.ts";

/** The windows of this traffic as OTLP spans give them: what every other source is measured against. */
export function windowsFromSpans({ spans }: Traffic, startMs: number, endMs: number): WindowSet {
  const builder = new WindowBuilder({ windowSeconds: (endMs - startMs) / 1_000, namespace: "shop" });
  const batch = new SpanBatch();
  batch.clear(startMs);
  for (const span of spans) batch.add(span);
  builder.add(batch, endMs);
  return builder.build(startMs, endMs, NO_RESOURCES, endMs + 60_000);
}

export const ofService = (set: WindowSet, service: string): Window => {
  const window = set.windows.find((each) => each.service === service);
  expect(window, `a window of ${service}`).toBeDefined();
  return window!;
};

export const SERVICES = ["front", "cart", "stock", "database"];

/** The bucket that holds a latency: where the true quantile lies, an estimate must lie too. */
function bucketOf(seconds: number): [number, number] {
  const at = BOUNDS_SECONDS.findIndex((bound) => seconds <= bound);
  return [BOUNDS_SECONDS[at - 1] ?? 0, BOUNDS_SECONDS[at] ?? Number.POSITIVE_INFINITY];
}

/**
 * Bounds for windows from span metrics against windows from the spans themselves:
 * rate, errors and edges the same, mean the same, percentiles within the bucket that holds the true one (and 2 % for
 * the sketch of the span windows), own mean the same where calls follow each other.
 */
export function expectSameWindows(metrics: WindowSet, spans: WindowSet, tolerance: number): void {
  for (const service of SERVICES) {
    const [seen, truth] = [ofService(metrics, service), ofService(spans, service)];
    const near = (a: number | undefined, b: number | undefined, what: string): void => {
      const difference = Math.abs((a ?? Number.NaN) - (b ?? Number.NaN)) / Math.max(1e-9, b ?? 0);
      expect(difference, `${service}: ${what} ${a} instead of ${b}`).toBeLessThanOrEqual(tolerance);
    };
    near(seen.requestsPerSecond, truth.requestsPerSecond, "requests per second");
    near(seen.responseLatency?.meanSeconds, truth.responseLatency?.meanSeconds, "mean response");
    near(seen.ownLatency?.meanSeconds, truth.ownLatency?.meanSeconds, "mean own latency");
    near(seen.inFlight, truth.inFlight, "requests in flight");
    expect(seen.errorRatio).toBeCloseTo(truth.errorRatio ?? 0, 2);
    expect(seen.ownLatencyDerived).toBe(true);
    expect(truth.ownLatencyDerived).toBeUndefined();
    for (const key of ["p50Seconds", "p95Seconds", "p99Seconds"] as const) {
      const [lower, upper] = bucketOf(truth.responseLatency![key]);
      expect(seen.responseLatency![key], `${service} ${key}`).toBeGreaterThanOrEqual(lower * 0.98);
      expect(seen.responseLatency![key], `${service} ${key}`).toBeLessThanOrEqual(upper * 1.02);
    }
    for (const { callee, callsPerSecond } of truth.callees) {
      near(
        seen.callees.find((edge) => edge.callee === callee)?.callsPerSecond,
        callsPerSecond,
        `calls to ${callee}`,
      );
    }
    expect(seen.callees).toHaveLength(truth.callees.length);
  }
}
