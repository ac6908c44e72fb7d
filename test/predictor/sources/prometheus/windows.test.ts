import { describe, expect, it } from "vitest";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { RedReading } from "@tradewind/predictor/sources/prometheus/reading.ts";
import { windowsOf } from "@tradewind/predictor/sources/prometheus/windows.ts";

const response = { count: 150, meanSeconds: 0.1, p50Seconds: 0.1, p95Seconds: 0.1, p99Seconds: 0.1 };

interface Call {
  readonly callee: string;
  readonly meanSeconds?: number;
}

/**
 * Mean own latency of a service with 10 requests/s of 100 ms that makes each of these calls once per request.
 * @param waitingSeconds per request in CLIENT spans; undefined where the metrics have none
 */
function ownSeconds(waitingSeconds: number | undefined, calls?: readonly Call[]): number | undefined {
  const reading = new RedReading({ firstEndMs: 15_000, stepMs: 15_000, count: 1 });
  const front = reading.of({ service: "front" });
  front.requestsPerSecond[0] = 10;
  front.latency[0] = response;
  reading.graphKnown = calls !== undefined;
  for (const { callee, meanSeconds } of calls ?? []) {
    const edge = reading.edge(front, callee);
    edge.callsPerSecond[0] = 10;
    if (meanSeconds !== undefined) edge.secondsPerSecond[0] = 10 * meanSeconds;
  }
  if (waitingSeconds !== undefined) {
    reading.waitingKnown = true;
    front.waitingSecondsPerSecond = Float64Array.of(10 * waitingSeconds);
  }
  const [window] = windowsOf(reading, 0, { namespace: "shop", resources: NO_RESOURCES });
  return window?.ownLatency?.meanSeconds;
}

describe("derived own latency", () => {
  const three = ["cart", "stock", "ads"].map((callee) => ({ callee, meanSeconds: 0.08 }));

  it("leaves the time in CLIENT spans out, whether there is a call graph or not", () => {
    expect(ownSeconds(0.06)).toBeCloseTo(0.04, 9);
    expect(ownSeconds(0.06, three.slice(0, 1))).toBeCloseTo(0.04, 9);
    expect(ownSeconds(0)).toBe(0.1);
  });

  it("leaves the longest call of the graph out where the CLIENT spans take longer than the response", () => {
    expect(ownSeconds(0.24, three)).toBeCloseTo(0.02, 9);
  });

  it("is unknown where calls overlap and no call graph shows how long each of them takes", () => {
    expect(ownSeconds(0.24)).toBeUndefined();
    expect(ownSeconds(0.24, [])).toBeUndefined();
    expect(ownSeconds(0.24, [...three, { callee: "rates" }])).toBeUndefined();
  });

  it("is unknown where neither CLIENT spans nor a whole call graph show the calls", () => {
    expect(ownSeconds(undefined)).toBeUndefined();
    expect(ownSeconds(undefined, [{ callee: "cart" }])).toBeUndefined();
    expect(ownSeconds(undefined, [])).toBe(0.1);
  });
});

describe("the way of a call", () => {
  it("is read from the called service in the caller's namespace, not from another of its name", () => {
    const reading = new RedReading({ firstEndMs: 15_000, stepMs: 15_000, count: 1 });
    const front = reading.of({ service: "front", namespace: "shop" });
    front.requestsPerSecond[0] = 10;
    const edge = reading.edge(front, "cart");
    edge.callsPerSecond[0] = 10;
    edge.secondsPerSecond[0] = 10 * 0.12;
    reading.of({ service: "cart", namespace: "shop" }).latency[0] = response;
    reading.of({ service: "cart", namespace: "dev" }).latency[0] = { ...response, meanSeconds: 0.01 };
    const [window] = windowsOf(reading, 0, { namespace: "shop", resources: NO_RESOURCES });
    expect(window?.callees[0]?.transitSeconds).toBeCloseTo(0.02, 9);
  });
});
