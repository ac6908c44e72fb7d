import { describe, expect, it } from "vitest";
import { MetricBatch } from "@tradewind/predictor/sources/otlp/pushed-metrics/batch.ts";
import { MetricJsonDecoder } from "@tradewind/predictor/sources/otlp/pushed-metrics/decode-json.ts";
import { MetricProtobufDecoder } from "@tradewind/predictor/sources/otlp/pushed-metrics/decode-protobuf.ts";
import type { DurationPoint } from "@tradewind/predictor/sources/otlp/pushed-metrics/durations.ts";
import { PushedMetrics } from "@tradewind/predictor/sources/otlp/pushed-metrics/pushed-metrics.ts";
import { DEFAULT_RECEIVER_LIMITS } from "@tradewind/predictor/sources/otlp/limits.ts";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import { expectSameWindows, ofService, windowsFromSpans } from "../../one-traffic.ts";
import { BOUNDS_SECONDS, traffic } from "../../traffic.ts";
import { metricsJson, metricsProtobuf } from "./otlp-metrics.ts";
import type { WireMetric, WirePoint } from "./otlp-metrics.ts";

const START_MS = 1_800_000_000_000;
type Encoding = "JSON" | "protobuf";
type Resource = Readonly<Record<string, string>>;

function decoded(encoding: Encoding, metrics: readonly WireMetric[], resource: Resource): MetricBatch {
  const batch = new MetricBatch();
  const isJson = encoding === "JSON";
  const decoder = new (isJson ? MetricJsonDecoder : MetricProtobufDecoder)(DEFAULT_RECEIVER_LIMITS);
  const bytes = isJson
    ? Buffer.from(JSON.stringify(metricsJson(metrics, resource)))
    : metricsProtobuf(metrics, resource);
  for (const _ of decoder.steps(bytes, batch));
  return batch;
}

const pointsOf = (metrics: readonly WireMetric[], resource: Resource): DurationPoint[] =>
  decoded("protobuf", metrics, resource).points;

const HISTOGRAM = { bounds: [0.1, 0.5], counts: [1, 2, 3] };

describe.each<Encoding>(["protobuf", "JSON"])("metrics in %s", (encoding) => {
  const one = (metric: Partial<WireMetric>, point: Partial<WirePoint> = {}): MetricBatch => {
    const whole = { startMs: START_MS, endMs: START_MS + 10_000, count: 6, sum: 3 };
    const points = [{ ...whole, ...(point.exponential === undefined && { explicit: HISTOGRAM }), ...point }];
    const name = "http.server.request.duration";
    return decoded(encoding, [{ name, unit: "s", temporality: "delta", points, ...metric }], {
      "service.name": "cart",
      "k8s.pod.name": "cart-1",
      "host.name": "node-7",
    });
  };

  it("become points of durations; whatever else is measured is counted", () => {
    const { discarded, invalid, points } = one({});
    expect([discarded, invalid]).toEqual([1, 0]);
    expect(points).toEqual([
      {
        resource: { service: "cart", instance: "cart-1", host: "node-7", isPod: true },
        role: "served",
        series: expect.any(String) as string,
        isDelta: true,
        startMs: START_MS,
        endMs: START_MS + 10_000,
        failed: false,
        route: undefined,
        peer: undefined,
        measured: { count: 6, sum: 3, buckets: { kind: "explicit", ...HISTOGRAM } },
      },
    ]);
  });

  it.each([
    { name: "http.server.duration", unit: "ms", role: "served", seconds: 0.003 },
    { name: "http.server.duration", unit: "", role: "served", seconds: 0.003 },
    { name: "rpc.server.duration", unit: "ms", role: "served", seconds: 0.003 },
    { name: "rpc.server.call.duration", unit: "s", role: "served", seconds: 3 },
    { name: "http.client.request.duration", unit: "s", role: "called", seconds: 3 },
    { name: "db.client.operation.duration", unit: "s", role: "called", seconds: 3 },
  ])("called $name in '$unit' are $role, in seconds", ({ name, role, seconds, unit }) => {
    const [point] = one({ name, unit }).points;
    expect([point?.role, point?.measured.sum]).toEqual([role, seconds]);
  });

  it("may be exponential histograms", () => {
    const exponential = { scale: 3, zeroCount: 1, offset: -20, counts: [1, 0, 4] };
    const [point] = one({}, { exponential }).points;
    expect(point?.measured.buckets).toEqual({ kind: "exponential", unitSeconds: 1, ...exponential });
  });

  it.each([
    { attributes: { "http.response.status_code": 503 }, failed: true },
    { attributes: { "http.status_code": 500 }, failed: true },
    { attributes: { "http.response.status_code": 404, "error.type": "404" }, failed: false },
    { attributes: { "rpc.grpc.status_code": 14 }, failed: true },
    { attributes: { "error.type": "java.net.SocketTimeoutException" }, failed: true },
    { attributes: { "http.route": "/carts/:id" }, failed: false },
  ])("tell of failures by $attributes: $failed", ({ attributes, failed }) => {
    expect(one({}, { attributes }).points).toMatchObject([{ failed }]);
  });

  it("name whom calls went to", () => {
    const attributes = { "server.address": "stock.shop.svc", "server.port": 80 };
    const { points } = one({ name: "http.client.request.duration" }, { attributes });
    expect(points).toMatchObject([{ peer: "stock.shop.svc" }]);
  });

  it("tell series apart by their attributes", () => {
    const [first, second, third] = ["/a", "/b", "/a"].map(
      (route) => one({}, { attributes: { "http.route": route } }).points[0]!.series,
    );
    expect(first).not.toBe(second);
    expect(first).toBe(third);
  });

  it.each([
    { what: "bounds that fall", explicit: { bounds: [0.5, 0.1], counts: [1, 2, 3] } },
    { what: "a bucket too few", explicit: { bounds: [0.1, 0.5], counts: [1, 2] } },
    { what: "no end", endMs: 0 },
    { what: "a sum below zero", sum: -1 },
    {
      what: "a thousand buckets",
      explicit: {
        bounds: Array.from({ length: 999 }, (_, index) => index),
        counts: Array.from({ length: 1_000 }, () => 1),
      },
    },
  ])("with $what are no histogram", (point) => {
    expect(one({}, point)).toMatchObject({ invalid: 1, points: [] });
  });
});

describe("metrics in JSON", () => {
  it.each([
    { what: "no JSON", text: "{", says: "not an ExportMetricsServiceRequest" },
    { what: "a list", text: "[]", says: "expected object" },
    { what: "a number for the list of metrics", text: '{"resourceMetrics":7}', says: "expected array" },
    { what: "deep nesting", text: `{"x":${"[".repeat(1_000_000)}`, says: "nests deeper than 64" },
    {
      what: "more than 1 MiB",
      text: `{"x":"${"x".repeat(3e6)}"}`,
      says: "send smaller batches, or protobuf",
    },
  ])("with $what are refused", ({ says, text }) => {
    const decoder = new MetricJsonDecoder(DEFAULT_RECEIVER_LIMITS);
    expect(() => [...decoder.steps(Buffer.from(text), new MetricBatch())]).toThrow(says);
  });
});

/** A process that counts into one histogram, and exports it. */
class Exporting {
  readonly #resource: Resource;
  readonly #startMs: number;
  readonly #temporality: WireMetric["temporality"];
  #counts = [0, 0, 0];
  #sum = 0;
  #lastMs: number;

  constructor(resource: Resource, startMs: number, temporality: WireMetric["temporality"] = "cumulative") {
    this.#resource = resource;
    this.#startMs = startMs;
    this.#lastMs = startMs;
    this.#temporality = temporality;
  }

  /** Serves requests of 0.2 s, and exports at that time. */
  export(endMs: number, requests: number): DurationPoint[] {
    if (this.#temporality === "delta") [this.#counts, this.#sum] = [[0, 0, 0], 0];
    this.#counts[1]! += requests;
    this.#sum += 0.2 * requests;
    const startMs = this.#temporality === "delta" ? this.#lastMs : this.#startMs;
    this.#lastMs = endMs;
    const explicit = { bounds: HISTOGRAM.bounds, counts: [...this.#counts] };
    const count = this.#counts.reduce((total, each) => total + each, 0);
    const points = [{ startMs, endMs, count, sum: this.#sum, explicit }];
    const name = "http.server.request.duration";
    return pointsOf([{ name, unit: "s", temporality: this.#temporality, points }], this.#resource);
  }
}

const CART = { "service.name": "cart", "k8s.pod.name": "cart-1" };
const rateAt = (metrics: PushedMetrics, startMs: number, seconds = 15): number | undefined =>
  metrics
    .windows({ startMs, endMs: startMs + 1e3 * seconds }, "shop", ["cart"])
    .windows.find(({ service }) => service === "cart")?.requestsPerSecond;

describe("PushedMetrics", () => {
  it.each(["cumulative", "delta"] as const)(
    "says the rate of each window from exports of 10 s, %s",
    (temporality) => {
      const metrics = new PushedMetrics();
      const process = new Exporting(CART, START_MS, temporality);
      for (let second = 10; second <= 70; second += 10)
        metrics.add(
          process.export(START_MS + 1e3 * second, second <= 30 ? 50 : 100),
          START_MS + 1e3 * second,
        );
      expect(rateAt(metrics, START_MS + 15_000)).toBeCloseTo(5, 9);
      expect(rateAt(metrics, START_MS + 30_000)).toBeCloseTo(10, 9);
    },
  );

  it("says the rate of the last export until the next one, where exports come less often than windows", () => {
    const metrics = new PushedMetrics();
    const process = new Exporting(CART, START_MS);
    metrics.add(process.export(START_MS + 60_000, 600), START_MS + 60_000);
    for (const second of [60, 75, 90]) expect(rateAt(metrics, START_MS + 1e3 * second)).toBeCloseTo(10, 9);
    metrics.add(process.export(START_MS + 120_000, 300), START_MS + 120_000);
    expect(rateAt(metrics, START_MS + 105_000)).toBeCloseTo(5, 9);
  });

  it("says nothing of a service whose processes stopped exporting, and 0 of one that exports that there was nothing", () => {
    const metrics = new PushedMetrics();
    const process = new Exporting(CART, START_MS);
    for (const second of [10, 20, 30])
      metrics.add(process.export(START_MS + 1e3 * second, 0), START_MS + 1e3 * second);
    expect(rateAt(metrics, START_MS + 15_000)).toBe(0);
    expect(rateAt(metrics, START_MS + 120_000)).toBeUndefined();
  });

  it("says nothing where most of the processes of a service are silent: the others' load would be taken for all of it", () => {
    const metrics = new PushedMetrics();
    const pods = ["a", "b", "c"].map((pod) => new Exporting({ ...CART, "k8s.pod.name": pod }, START_MS));
    const exported = (second: number, speaking: readonly Exporting[]): void => {
      for (const pod of speaking)
        metrics.add(pod.export(START_MS + 1e3 * second, 10), START_MS + 1e3 * second);
    };
    exported(10, pods);
    exported(20, pods);
    expect(rateAt(metrics, START_MS + 5_000)).toBeCloseTo(3, 9);
    for (const second of [30, 40, 50, 60, 70, 80]) exported(second, pods.slice(0, 1));
    expect(rateAt(metrics, START_MS + 60_000)).toBeUndefined();
  });

  it("counts from 0 after a restart, and never below", () => {
    const metrics = new PushedMetrics();
    const before = new Exporting(CART, START_MS);
    for (const second of [10, 20, 30])
      metrics.add(before.export(START_MS + 1e3 * second, 100), START_MS + 1e3 * second);
    const after = new Exporting(CART, START_MS + 32_000);
    for (const second of [40, 50, 60])
      metrics.add(after.export(START_MS + 1e3 * second, 40), START_MS + 1e3 * second);
    expect(rateAt(metrics, START_MS + 15_000)).toBeCloseTo(10, 9);
    expect(rateAt(metrics, START_MS + 45_000)).toBeCloseTo(4, 9);
  });

  it("does not take what a long-lived process counted before its first export here for load", () => {
    const metrics = new PushedMetrics();
    const process = new Exporting(CART, START_MS - 86_400_000);
    metrics.add(process.export(START_MS, 1_000_000), START_MS);
    expect(rateAt(metrics, START_MS - 15_000)).toBeUndefined();
    metrics.add(process.export(START_MS + 10_000, 50), START_MS + 10_000);
    metrics.add(process.export(START_MS + 20_000, 50), START_MS + 20_000);
    expect(rateAt(metrics, START_MS)).toBeCloseTo(5, 9);
  });

  it.each([
    { route: "/up", attributes: { "http.route": "/up" }, rate: undefined },
    {
      route: "/grpc.health.v1.Health/Check",
      attributes: { "rpc.service": "grpc.health.v1.Health", "rpc.method": "Check" },
      rate: undefined,
    },
    { route: "/", attributes: { "http.route": "/" }, rate: 1 },
  ])(
    "takes requests for the probe path $route for requests of users: $rate",
    ({ attributes, rate, route }) => {
      const metrics = new PushedMetrics();
      const points = [
        {
          startMs: START_MS,
          endMs: START_MS + 15_000,
          count: 15,
          sum: 3,
          attributes,
          explicit: { bounds: [1], counts: [15, 0] },
        },
      ];
      const wire: WireMetric = {
        name: "http.server.request.duration",
        unit: "s",
        temporality: "delta",
        points,
      };
      metrics.add(pointsOf([wire], CART), START_MS + 15_000, new Map([["cart", [route]]]));
      expect(rateAt(metrics, START_MS)).toBe(rate);
    },
  );

  it("leaves out the usual paths of health and metrics, whoever declares them", () => {
    const metrics = new PushedMetrics();
    const points = ["/livez", "/"].map((route) => ({
      startMs: START_MS,
      endMs: START_MS + 15_000,
      count: 15,
      sum: 3,
      attributes: { "http.route": route },
      explicit: { bounds: [1], counts: [15, 0] },
    }));
    const wire: WireMetric = {
      name: "http.server.request.duration",
      unit: "s",
      temporality: "delta",
      points,
    };
    metrics.add(pointsOf([wire], CART), START_MS + 15_000, new Map());
    expect(rateAt(metrics, START_MS)).toBe(1);
  });

  it("adds processes up that name no pod, told apart by when they began", () => {
    const metrics = new PushedMetrics();
    const two = [0, 1].map((index) => new Exporting({ "service.name": "cart" }, START_MS + index));
    for (const second of [10, 20, 30])
      for (const process of two)
        metrics.add(process.export(START_MS + 1e3 * second, 50), START_MS + 1e3 * second);
    expect(rateAt(metrics, START_MS + 15_000)).toBeCloseTo(10, 9);
  });

  it("counts an export that comes twice once", () => {
    const metrics = new PushedMetrics();
    const process = new Exporting(CART, START_MS);
    for (const second of [10, 20, 30]) {
      const points = process.export(START_MS + 1e3 * second, 50);
      for (let turn = 0; turn < 2; turn += 1) metrics.add(points, START_MS + 1e3 * second);
    }
    expect(rateAt(metrics, START_MS + 15_000)).toBeCloseTo(5, 9);
  });

  it("refuses what no window can be made of, and says why", () => {
    const metrics = new PushedMetrics();
    const reasonsOf = (resource: Resource, startMs: number, endMs: number): unknown =>
      metrics.add(new Exporting(resource, startMs, "delta").export(endMs, 5), START_MS).reasons;
    expect(reasonsOf({}, START_MS - 10_000, START_MS)).toEqual({ "invalid-service": 1 });
    expect(reasonsOf(CART, START_MS - 600_000, START_MS - 500_000)).toEqual({ "too-old": 1 });
    expect(reasonsOf(CART, START_MS, START_MS + 60_000)).toEqual({ "too-far-ahead": 1 });
    expect(reasonsOf(CART, START_MS - 600_000, START_MS)).toEqual({ "too-long": 1 });
    expect(rateAt(metrics, START_MS - 15_000)).toBeUndefined();
  });

  it("holds no more series than it may, and makes room for others when some are idle", () => {
    const metrics = new PushedMetrics(10);
    const all = Array.from({ length: 30 }, (_, index) => `cart-${index}`);
    const offer = (pods: readonly string[], nowMs: number): number => {
      const points = pods.flatMap((pod) =>
        new Exporting({ ...CART, "k8s.pod.name": pod }, nowMs).export(nowMs, 1),
      );
      return metrics.add(points, nowMs).accepted;
    };
    expect(offer(all, START_MS)).toBeLessThanOrEqual(10);
    expect(
      offer(
        all.map((pod) => `${pod}-new`),
        START_MS + 900_000,
      ),
    ).toBeGreaterThan(0);
  });

  it("gives the windows that the spans of the same requests give", () => {
    const one = traffic(START_MS, 60, 20, 3);
    const truth = windowsFromSpans(one, START_MS, START_MS + 60_000);
    const metrics = new PushedMetrics();
    const services = [...new Set(one.spans.map(({ resource }) => resource.service))];
    for (const service of services) {
      const name = (kind: number) =>
        kind === SPAN_KIND.server ? "http.server.request.duration" : "http.client.request.duration";
      for (let endMs = START_MS - 10_000; endMs <= START_MS + 60_000; endMs += 10_000) {
        const seen = Map.groupBy(
          one.spans.filter(
            ({ durationMs, resource, startMs }) =>
              resource.service === service && startMs + durationMs <= endMs,
          ),
          (span) =>
            JSON.stringify([span.kind, span.error === true, span.kind === SPAN_KIND.client && span.name]),
        );
        const wire = [...seen.values()].map((spans): WireMetric => {
          const [{ error, kind, name: operation } = spans[0]!] = spans;
          const counts = [...BOUNDS_SECONDS, 0].map(() => 0);
          for (const { durationMs } of spans) {
            const place = BOUNDS_SECONDS.findIndex((bound) => durationMs / 1e3 <= bound);
            counts[place === -1 ? BOUNDS_SECONDS.length : place]! += 1;
          }
          const sum = spans.reduce((total, { durationMs }) => total + durationMs / 1e3, 0);
          const attributes =
            kind === SPAN_KIND.server
              ? { "http.response.status_code": error === true ? 500 : 200 }
              : { "server.address": `${operation!.replace("call ", "")}.shop.svc.cluster.local` };
          const explicit = { bounds: BOUNDS_SECONDS, counts };
          const points = [
            { startMs: START_MS - 60_000, endMs, count: spans.length, sum, attributes, explicit },
          ];
          return { name: name(kind), unit: "s", temporality: "cumulative", points };
        });
        const idle = {
          startMs: START_MS - 60_000,
          endMs,
          count: 0,
          sum: 0,
          explicit: { bounds: [1], counts: [0, 0] },
        };
        const beat: WireMetric = {
          name: name(SPAN_KIND.server),
          unit: "s",
          temporality: "cumulative",
          points: [idle],
        };
        metrics.add(
          pointsOf([...wire, beat], { "service.name": service, "k8s.pod.name": `${service}-1` }),
          endMs,
        );
      }
    }
    const set = metrics.windows({ startMs: START_MS, endMs: START_MS + 60_000 }, "shop", ["front"]);
    expectSameWindows(set, truth, 0.02);
    expect(set.flows).toMatchObject([{ flow: "front", services: ["front", "cart", "stock", "database"] }]);
    expect(ofService(set, "front").errorRatio).toBeGreaterThan(0);
  });

  it("says percentiles of exponential histograms to the width of their buckets, also when they grow wider", () => {
    const metrics = new PushedMetrics();
    const exported = (
      second: number,
      scale: number,
      buckets: ReadonlyMap<number, number>,
      sum: number,
    ): void => {
      const offset = Math.min(...buckets.keys());
      const counts = Array.from(
        { length: Math.max(...buckets.keys()) - offset + 1 },
        (_, place) => buckets.get(offset + place) ?? 0,
      );
      const count = counts.reduce((total, each) => total + each, 0);
      const points = [
        {
          startMs: START_MS,
          endMs: START_MS + 1e3 * second,
          count,
          sum,
          exponential: { scale, zeroCount: 0, offset, counts },
        },
      ];
      const name = "http.server.request.duration";
      metrics.add(
        pointsOf([{ name, unit: "s", temporality: "cumulative", points }], CART),
        START_MS + 1e3 * second,
      );
    };
    const index = (seconds: number, scale: number): number => Math.ceil(Math.log2(seconds) * 2 ** scale) - 1;
    exported(15, 5, new Map([[index(0.1, 5), 90]]), 9);
    // A slow one makes the SDK halve its scale.
    exported(
      30,
      4,
      new Map([
        [index(0.1, 4), 180],
        [index(1.6, 4), 20],
      ]),
      50,
    );
    const window = ofService(
      metrics.windows({ startMs: START_MS + 15_000, endMs: START_MS + 30_000 }, "shop", ["cart"]),
      "cart",
    );
    expect(window.requestsPerSecond).toBeCloseTo(110 / 15, 9);
    expect(window.responseLatency!.meanSeconds).toBeCloseTo(41 / 110, 9);
    expect(Math.abs(window.responseLatency!.p50Seconds / 0.1 - 1)).toBeLessThan(0.05);
    expect(Math.abs(window.responseLatency!.p95Seconds / 1.6 - 1)).toBeLessThan(0.05);
  });
});
