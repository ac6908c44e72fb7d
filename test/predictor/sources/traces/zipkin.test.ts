import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startOtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import type { OtlpReceiver } from "@tradewind/predictor/sources/otlp/receiver.ts";
import { readZipkinSpan } from "@tradewind/predictor/sources/otlp/read-zipkin.ts";
import { ZipkinOptions, ZipkinSource } from "@tradewind/predictor/sources/traces/zipkin-source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { DERIVED_KIND, SPAN_KIND } from "@tradewind/predictor/window/span.ts";

import type { SpanBatch } from "@tradewind/predictor/window/span.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import { FakeServer, json } from "../../../core/net/endpoint/fake-server.ts";
import { ofService, SERVICES, windowsFromSpans } from "../one-traffic.ts";
import { recordsOf } from "../otlp/messages.ts";
import { traffic } from "../traffic.ts";
import { zipkinProtobuf, zipkinSpan } from "./zipkin-spans.ts";
import type { ZipkinSpan } from "./zipkin-spans.ts";

const END_MS = 1_800_000_000_000;
const INTERVAL = { startMs: END_MS - 60_000, endMs: END_MS };
const TRAFFIC = traffic(INTERVAL.startMs, 60, 5, 11);
const TRUTH = windowsFromSpans(TRAFFIC, INTERVAL.startMs, INTERVAL.endMs);
const JSON_TYPE = { "content-type": "application/json" };
const PROTOBUF_TYPE = { "content-type": "application/x-protobuf" };

/** A call whose two sides have one id, as Zipkin's own clients write it. */
const SHARED: readonly ZipkinSpan[] = [
  {
    traceId: "463ac35c9f6413ad",
    parentId: "463ac35c9f6413ad",
    id: "72485a3953bb6124",
    kind: "CLIENT",
    name: "get /stock",
    timestamp: END_MS * 1e3,
    duration: 25_000,
    localEndpoint: { serviceName: "cart", ipv4: "10.0.0.7" },
    tags: { error: "" },
  },
  {
    traceId: "463ac35c9f6413ad",
    parentId: "463ac35c9f6413ad",
    id: "72485a3953bb6124",
    kind: "SERVER",
    shared: true,
    name: "get /stock",
    timestamp: END_MS * 1e3 + 2_000,
    duration: 20_000,
    localEndpoint: { serviceName: "stock", ipv4: "10.0.0.8" },
    tags: { "k8s.pod.name": "stock-5", "k8s.namespace.name": "shop" },
  },
  {
    traceId: "463ac35c9f6413ad",
    id: "463ac35c9f6413ad",
    name: "refresh",
    timestamp: END_MS * 1e3,
    duration: 30_000,
    localEndpoint: { serviceName: "cart", ipv4: "10.0.0.7" },
  },
];
const SHARED_READ = [
  {
    traceId: "0000000000000000463ac35c9f6413ad",
    spanId: "72485a3953bb6124",
    parentId: "463ac35c9f6413ad",
    kind: SPAN_KIND.client,
    durationNs: 25e6,
    error: 1,
    name: "get /stock",
    resource: { service: "cart", instance: "10.0.0.7" },
  },
  {
    spanId: "72485a3953bb6124",
    parentId: "463ac35c9f6413ad",
    kind: SPAN_KIND.server,
    durationNs: 20e6,
    error: 0,
    resource: { service: "stock", instance: "stock-5", namespace: "shop" },
  },
  {
    spanId: "463ac35c9f6413ad",
    parentId: "0000000000000000",
    kind: SPAN_KIND.internal,
    resource: { service: "cart", instance: "10.0.0.7" },
  },
];

describe("Zipkin's POST /api/v2/spans", () => {
  let receiver: OtlpReceiver;
  const batches: { records: ReturnType<typeof recordsOf>; invalidIds: number }[] = [];
  const onSpans = (batch: SpanBatch) => {
    batches.push({ records: recordsOf(batch), invalidIds: batch.invalidIds });
    return { accepted: batch.length, rejected: batch.invalidIds, reasons: {} };
  };
  beforeEach(async () => {
    batches.length = 0;
    receiver = await startOtlpReceiver({ listen: "127.0.0.1:0", onSpans });
  });
  afterEach(async () => receiver.stop());
  const post = async (body: Uint8Array | string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${receiver.address}/api/v2/spans`, { method: "POST", body, headers });

  it.each([
    { what: "JSON", body: JSON.stringify(SHARED), headers: JSON_TYPE },
    {
      what: "JSON with a charset",
      body: JSON.stringify(SHARED, null, 2),
      headers: { "content-type": "application/json; charset=utf-8" },
    },
    {
      what: "gzip",
      body: gzipSync(JSON.stringify(SHARED)),
      headers: { ...JSON_TYPE, "content-encoding": "gzip" },
    },
    { what: "protobuf", body: zipkinProtobuf(SHARED), headers: PROTOBUF_TYPE },
  ])("takes $what and keeps kinds and ids of both sides of a call apart", async ({ body, headers }) => {
    const response = await post(body, headers);
    expect([response.status, await response.text()]).toEqual([202, ""]);
    expect(batches.flatMap(({ records }) => records)).toMatchObject(SHARED_READ);
  });

  it("tells clusters of one service apart in one request, and takes a Deployment for a name that nobody gave", async () => {
    const of = (cluster: string) => ({
      ...SHARED[0],
      localEndpoint: { serviceName: "unknown_service:java" },
      tags: { "k8s.deployment.name": "cart", "k8s.cluster.name": cluster },
    });
    await post(JSON.stringify([of("eu"), of("us"), of("us")]), JSON_TYPE);
    const resources = batches.flatMap(({ records }) => records.map(({ resource }) => resource));
    expect(resources).toEqual(["eu", "us", "us"].map((cluster) => ({ service: "cart", cluster })));
  });

  it("knows pod and namespace of a proxy by what Istio writes of it", async () => {
    const tags = {
      node_id: "sidecar~10.0.0.8~cart-7d9f8-x2x4v.staging~staging.svc.cluster.local",
      "istio.namespace": "staging",
    };
    await post(JSON.stringify([{ ...SHARED[0], tags }]), JSON_TYPE);
    expect(batches.flatMap(({ records }) => records)).toMatchObject([
      { resource: { instance: "cart-7d9f8-x2x4v", isPod: true, namespace: "staging" } },
    ]);
  });

  it("counts spans that cannot be understood, and refuses those that are not over as unfinished", async () => {
    const [first] = SHARED;
    const spans = [first, { ...first, duration: undefined }, { ...first, id: "nothing" }, 7];
    expect((await post(JSON.stringify(spans), JSON_TYPE)).status).toBe(202);
    expect(batches).toMatchObject([{ records: [{ durationNs: 25e6 }, { durationNs: -1e6 }], invalidIds: 2 }]);
  });

  it.each([
    { what: "an object", body: "{}" },
    { what: "half a list", body: JSON.stringify(SHARED).slice(0, 300) },
    { what: "nothing", body: "" },
    { what: "spans without ids", body: '[{"traceId":"0","id":"0"}]' },
  ])("refuses $what", async ({ body }) => {
    expect((await post(body, JSON_TYPE)).status).toBe(400);
    expect(batches).toEqual([]);
  });

  it("refuses protobuf that is cut short", async () => {
    expect((await post(zipkinProtobuf(SHARED).subarray(0, 60), PROTOBUF_TYPE)).status).toBe(400);
    expect(batches).toEqual([]);
  });

  it("refuses more spans than a reporter sends at once", async () => {
    const body = JSON.stringify(Array.from({ length: 5_001 }, () => ({ traceId: "1", id: "1" })));
    expect((await post(body, JSON_TYPE)).status).toBe(413);
  });
});

describe("ZipkinSource", () => {
  let server: FakeServer;
  let source: ZipkinSource | undefined;
  beforeEach(async () => {
    server = await FakeServer.start(() => undefined);
  });
  afterEach(async () => {
    await source?.close();
    await server.stop();
  });
  const zipkin = (options: Record<string, unknown> = {}): ZipkinSource =>
    (source = new ZipkinSource(ZipkinOptions.parse({ url: server.url, maxAttempts: 1, ...options }), () => [
      "front",
    ]));

  /** Answers as Zipkin does: at most `limit` traces that have a span of the service within the time. */
  function serve(): void {
    const traces = [...Map.groupBy(TRAFFIC.spans, ({ traceId }) => traceId).values()];
    server.handler = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? "", "http://x");
      if (pathname === "/api/v2/services") return json(response, SERVICES);
      const toMs = Number(searchParams.get("endTs"));
      const fromMs = toMs - Number(searchParams.get("lookback"));
      const service = searchParams.get("serviceName");
      const found = traces.filter((trace) =>
        trace.some(
          ({ resource, startMs }) => resource.service === service && startMs >= fromMs && startMs <= toMs,
        ),
      );
      return json(
        response,
        found.slice(0, Number(searchParams.get("limit"))).map((trace) => trace.map(zipkinSpan)),
      );
    };
  }

  it.each([{ limit: 10_000 }, { limit: 60 }])(
    "gives the same windows as the spans pushed to us, with at most $limit traces an answer",
    async (options) => {
      serve();
      const builder = new WindowBuilder({ windowSeconds: 60, namespace: "shop" });
      const pulled = await zipkin(options).pull(INTERVAL, (batch) => builder.add(batch, END_MS));
      const set = builder.build(INTERVAL.startMs, INTERVAL.endMs, NO_RESOURCES, END_MS + 60_000);
      expect(pulled).toMatchObject({ spans: TRAFFIC.spans.length, leftOut: 0 });
      for (const service of SERVICES) {
        const [seen, truth] = [ofService(set, service), ofService(TRUTH, service)];
        expect(seen.requestsPerSecond).toBeCloseTo(truth.requestsPerSecond!, 9);
        expect(seen.errorRatio).toBeCloseTo(truth.errorRatio!, 9);
        expect(seen.callees).toEqual(truth.callees);
        expect(seen.ownLatency!.p95Seconds).toBeCloseTo(truth.ownLatency!.p95Seconds, 5);
      }
    },
  );

  it("hands out a trace once, however often it is asked for its time", async () => {
    serve();
    const spans: number[] = [];
    const made = zipkin({ limit: 10_000 });
    for (let turn = 0; turn < 2; turn += 1) await made.pull(INTERVAL, ({ length }) => spans.push(length));
    expect(spans.reduce((sum, count) => sum + count, 0)).toBe(TRAFFIC.spans.length);
  });

  it("has no traffic where there are more traces than it may ask for", async () => {
    serve();
    await expect(zipkin({ limit: 1, maxRequests: 4 }).pull(INTERVAL, () => undefined)).rejects.toThrow(
      "more traces in 60 s than may be fetched",
    );
  });

  it("says which services it knows when it has no trace of the entry", async () => {
    server.handler = (request, response) =>
      json(response, request.url?.startsWith("/api/v2/services") === true ? ["web", "cart"] : []);
    expect(await zipkin().check(END_MS)).toEqual([
      expect.objectContaining({ level: "ok", message: "answers, 2 services" }),
      expect.objectContaining({
        level: "problem",
        message: "found no trace of 'front' of the last 15 minutes",
        remedy: "write the service as Zipkin shows it, for example web, cart",
      }),
    ]);
  });

  it.each([
    { what: "no JSON", answer: "<html>" },
    { what: "an object", answer: "{}" },
  ])("fails on $what instead of taking it for no traffic", async ({ answer }) => {
    server.handler = (_request, response) => response.end(answer);
    await expect(zipkin().pull(INTERVAL, () => undefined)).rejects.toThrow("zipkin");
  });
});

it.each([
  {
    says: { "http.response.header.content-type": "text/event-stream" },
    kind: "SERVER",
    is: DERIVED_KIND.stream,
  },
  { says: { "messaging.operation": "receive" }, kind: "CONSUMER", is: DERIVED_KIND.receive },
  { says: { "messaging.operation": "process" }, kind: "CONSUMER", is: SPAN_KIND.consumer },
])("what the tags $says say of a $kind span counts", ({ is, kind, says }) => {
  const span = { ...SHARED[2]!, kind, duration: 900_000, tags: says };
  expect(readZipkinSpan(span)?.kind).toBe(is);
});
