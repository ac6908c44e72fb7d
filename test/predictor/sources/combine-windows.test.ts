import { describe, expect, it } from "vitest";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/gathering.ts";
import { combineResources, combineWindows } from "@tradewind/predictor/sources/combine-windows.ts";
import type { Gathered } from "@tradewind/predictor/sources/combine-windows.ts";

const latency = (seconds: number) => ({
  count: 10,
  meanSeconds: seconds,
  p50Seconds: seconds,
  p95Seconds: seconds,
  p99Seconds: seconds,
});
const window = (service: string, fields: Partial<Window> = {}): Window => ({
  namespace: "shop",
  service,
  startMs: 0,
  endMs: 15_000,
  callees: [],
  containers: [],
  ...fields,
});
const set = (...windows: Window[]): WindowSet => ({ startMs: 0, endMs: 15_000, windows, flows: [] });
const gathered = (fields: Partial<Gathered>): Gathered => ({ ...NOTHING_GATHERED, ...fields });
const of = (combined: WindowSet, service: string): Window | undefined =>
  combined.windows.find((each) => each.service === service);

describe("combineWindows", () => {
  const fromMetrics = set(
    window("cart", {
      requestsPerSecond: 7,
      responseLatency: latency(0.2),
      ownLatency: latency(0.1),
      ownLatencyDerived: true,
    }),
    window("stock", { requestsPerSecond: 3 }),
  );

  it("prefers what spans measured, and fills the rest from metrics into the place that has the resources", () => {
    const spans = set(
      window("cart", { requestsPerSecond: 6.9, ownLatency: latency(0.11) }),
      window("stock", { requestsPerSecond: 0, replicasReady: 2 }),
    );
    const combined = combineWindows(spans, gathered({ sets: [fromMetrics] }));
    expect(of(combined, "cart")).toEqual(spans.windows[0]);
    expect(of(combined, "stock")).toEqual(window("stock", { requestsPerSecond: 3, replicasReady: 2 }));
  });

  it("takes the first metrics source that knows a service, and services that only metrics know", () => {
    const other = set(window("cart", { requestsPerSecond: 99 }));
    const combined = combineWindows(set(), gathered({ sets: [fromMetrics, other] }));
    expect(of(combined, "cart")?.requestsPerSecond).toBe(7);
    expect(combined.windows).toHaveLength(2);
  });

  it("takes no service to be idle when the metrics could not be read", () => {
    const spans = set(
      window("cart", { requestsPerSecond: 5 }),
      window("stock", { requestsPerSecond: 0, replicasReady: 2 }),
    );
    const combined = combineWindows(spans, gathered({ metricsIncomplete: true }));
    expect(of(combined, "cart")?.requestsPerSecond).toBe(5);
    expect(of(combined, "stock")).toEqual(window("stock", { replicasReady: 2 }));
  });

  it("says nothing of traffic when a source of traces gave a part of unknown size", () => {
    const spans: WindowSet = {
      ...set(window("cart", { requestsPerSecond: 5, errorRatio: 0.1, replicasReady: 1 })),
      flows: [],
    };
    expect(combineWindows(spans, gathered({ spansIncomplete: true })).windows).toEqual([
      window("cart", { replicasReady: 1 }),
    ]);
  });

  it("changes nothing where nothing is gathered", () => {
    const spans = set(window("cart", { requestsPerSecond: 0 }), window("stock"));
    expect(combineWindows(spans, NOTHING_GATHERED)).toEqual(spans);
  });
});

describe("combineResources", () => {
  it("fills in services that workloads do not know", () => {
    const view = (...names: string[]) => ({
      services: new Map(
        names.map((name) => [name, { namespace: "shop", containers: [], replicasReady: names.length }]),
      ),
    });
    const combined = combineResources(view("cart"), view("cart", "stock"));
    expect([...combined.services].map(([name, { replicasReady }]) => [name, replicasReady])).toEqual([
      ["cart", 1],
      ["stock", 2],
    ]);
  });
});
