import { describe, expect, it, onTestFinished } from "vitest";
import type { Window, WindowSet } from "@tradewind/core/contract/window.ts";
import { NOTHING_GATHERED } from "@tradewind/predictor/run/application/gathering.ts";
import {
  combineResources,
  combineWindows,
  missingParts,
} from "@tradewind/predictor/sources/combine-windows.ts";
import type { Doubts, Gathered } from "@tradewind/predictor/sources/combine-windows.ts";
import { PrometheusOptions } from "@tradewind/predictor/sources/prometheus/options.ts";
import { PrometheusSource } from "@tradewind/predictor/sources/prometheus/prometheus-source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { FakePrometheus, inNamespace } from "./prometheus/fake-prometheus.ts";
import { meshSeries } from "./prometheus/pushed-series.ts";

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
const told = (...services: string[]): Doubts => ({ missing: [], told: new Set(services) });
const of = (combined: WindowSet, service: string): Window | undefined =>
  combined.windows.find((each) => each.service === service);
const flowOf = (entryService: string, seconds: number): WindowSet["flows"][number] => ({
  flow: "GET /",
  entryService,
  requestsPerSecond: 5,
  errorRatio: 0,
  latency: latency(seconds),
  services: [entryService],
});

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
      window("stock", { replicasReady: 2 }),
    );
    const combined = combineWindows(spans, gathered({ sets: [fromMetrics] }), told("cart"));
    expect(of(combined, "cart")).toEqual(spans.windows[0]);
    expect(of(combined, "stock")).toEqual(window("stock", { requestsPerSecond: 3, replicasReady: 2 }));
  });

  it("takes the first metrics source that knows a service, and services that only metrics know", () => {
    const other = set(window("cart", { requestsPerSecond: 99 }));
    const combined = combineWindows(set(), gathered({ sets: [fromMetrics, other] }), told());
    expect(of(combined, "cart")?.requestsPerSecond).toBe(7);
    expect(combined.windows).toHaveLength(2);
  });

  it("says of services that no spans told of that the metrics source which failed is missing, and of no others", () => {
    const spans = set(window("cart", { requestsPerSecond: 5 }), window("stock", { replicasReady: 2 }));
    const failed = [{ name: "main", kind: "metrics" }] as const;
    const combined = combineWindows(spans, gathered({ failed }), told("cart"));
    expect(of(combined, "cart")).toEqual(spans.windows[0]);
    expect(of(combined, "stock")).toMatchObject({
      replicasReady: 2,
      missing: "the source 'main' could not be read",
    });
    expect(of(combined, "stock")?.requestsPerSecond).toBeUndefined();
  });

  it("lets the source that told decide where another source of traces failed: nothing is missing", () => {
    const spans = { ...set(window("cart", { requestsPerSecond: 5 })), flows: [flowOf("cart", 0.4)] };
    const failed = [{ name: "jaeger", kind: "spans" }] as const;
    const combined = combineWindows(spans, gathered({ failed }), told("cart"));
    expect(combined).toEqual(spans);
    expect(missingParts(combined, gathered({ failed }), [], set())).toEqual([]);
  });

  it("keeps what was measured, with what is missing, when the only source of traces failed in between", () => {
    const spans = { ...set(window("cart", { requestsPerSecond: 5 })), flows: [flowOf("cart", 0.4)] };
    const failed = [{ name: "jaeger", kind: "spans" }] as const;
    const combined = combineWindows(spans, gathered({ failed }), told());
    expect(of(combined, "cart")).toMatchObject({
      requestsPerSecond: 5,
      missing: "the source 'jaeger' could not be read",
    });
    expect(combined.flows).toEqual(spans.flows);
    expect(missingParts(combined, gathered({ failed }), [], set())).toEqual([
      "the source 'jaeger' could not be read",
    ]);
  });

  it("keeps the spans that came, and their miss, when those of a peer are missing", () => {
    const spans = { ...set(window("cart", { requestsPerSecond: 5 })), flows: [flowOf("cart", 0.4)] };
    const doubts = { missing: ["spans of a peer are missing"], told: new Set(["cart"]) };
    const combined = combineWindows(spans, NOTHING_GATHERED, doubts);
    expect(of(combined, "cart")).toEqual({ ...spans.windows[0], missing: "spans of a peer are missing" });
    expect(combined.flows).toEqual(spans.flows);
    expect(missingParts(combined, NOTHING_GATHERED, doubts.missing, set())).toEqual(doubts.missing);
  });

  it("takes whole traffic from metrics where spans of it are missing", () => {
    const spans = {
      ...set(window("cart", { requestsPerSecond: 3, replicasReady: 2 })),
      flows: [flowOf("cart", 0.4)],
    };
    const metrics = { ...fromMetrics, flows: [flowOf("cart", 0.2)] };
    const doubts = { missing: ["spans of a peer are missing"], told: new Set(["cart"]) };
    const combined = combineWindows(spans, gathered({ sets: [metrics] }), doubts);
    expect(of(combined, "cart")).toMatchObject({ requestsPerSecond: 7, replicasReady: 2 });
    expect(of(combined, "cart")?.missing).toBeUndefined();
    expect(combined.flows).toEqual(metrics.flows);
  });

  it("says what a metrics source lacks of a service that runs and that nobody else measured, and of no other", () => {
    const missing = "main: no sample of requests of 'cart' in this window";
    const lacking = ["cart", "stock", "gone", "ads"].map((service) => window(service, { missing }));
    const spans = set(
      window("cart", { replicasReady: 2 }),
      window("stock", { requestsPerSecond: 3 }),
      window("ads", { replicasReady: 1 }),
    );
    const sets = [set(...lacking), set(window("ads", { requestsPerSecond: 4 }))];
    const combined = combineWindows(spans, gathered({ sets }), told("stock"));
    expect(combined.windows).toEqual([
      window("cart", { replicasReady: 2, missing }),
      window("stock", { requestsPerSecond: 3 }),
      window("ads", { replicasReady: 1, requestsPerSecond: 4 }),
    ]);
    expect(missingParts(combined, gathered({ sets }), [], spans)).toEqual([missing]);
  });

  it("says what is wrong with the data of a source that failed for it, in the window and in the plan", () => {
    const problem = "main: the application's services are stored of 2 clusters";
    const failed = [{ name: "main", kind: "metrics", problem }] as const;
    const combined = combineWindows(set(window("cart")), gathered({ failed }), told());
    expect(of(combined, "cart")?.missing).toBe(problem);
    expect(missingParts(combined, gathered({ failed }), [], set())).toEqual([problem]);
  });

  it("changes nothing where nothing is gathered", () => {
    const spans = set(window("cart", { requestsPerSecond: 1 }), window("stock"));
    expect(combineWindows(spans, NOTHING_GATHERED, told("cart"))).toEqual(spans);
  });
});

describe("combineWindows of a server that knows several namespaces", () => {
  const END_MS = 1_800_000_000_000;
  const interval = { startMs: END_MS - 15_000, endMs: END_MS };
  const times = Array.from({ length: 21 }, (_, index) => END_MS - 100_000 + index * 5_000);

  it.each([
    ["before", ["dev", "shop"]],
    ["after", ["shop", "dev"]],
  ])("keeps to the application's own where another's series come %s it", async (_where, namespaces) => {
    const fake = await FakePrometheus.start();
    const busy = { dev: 0.01, shop: 1 };
    fake.series = namespaces.flatMap((namespace) =>
      inNamespace(meshSeries(times), namespace, busy[namespace as keyof typeof busy]),
    );
    const options = PrometheusOptions.parse({ url: fake.server.url, metrics: "istio", maxAttempts: 1 });
    const source = new PrometheusSource(options, { namespace: "shop", entries: () => ["front"] });
    onTestFinished(async () => {
      await source.close();
      await fake.server.stop();
    });
    const sets = [await source.windows(interval, NO_RESOURCES)];
    const spans = set(window("front", { ...interval, replicasReady: 2 }));
    const combined = combineWindows(spans, gathered({ sets }), told());
    expect(combined.windows.map(({ namespace, service }) => `${namespace}/${service}`)).toEqual([
      "shop/front",
      "shop/cart",
    ]);
    expect(of(combined, "front")?.replicasReady).toBe(2);
    expect(of(combined, "front")?.requestsPerSecond).toBeCloseTo(10, 6);
    expect(combined.flows).toMatchObject([{ entryService: "front", services: ["front", "cart"] }]);
    expect(combined.flows[0]?.requestsPerSecond).toBeCloseTo(10, 6);
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
