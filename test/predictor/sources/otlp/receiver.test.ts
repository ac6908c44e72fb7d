import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { SpanKind, SpanStatusCode, context, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import protobuf from "protobufjs/minimal.js";
import { afterEach, describe, expect, it } from "vitest";
import type { DurationPoint } from "../../../../predictor/sources/otlp/pushed-metrics/durations.ts";
import type { ReceiverMetrics } from "../../../../predictor/sources/otlp/metrics.ts";
import { startOtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import type { OtlpReceiverOptions } from "../../../../predictor/sources/otlp/receiver-options.ts";
import type { OtlpReceiver } from "../../../../predictor/sources/otlp/receiver.ts";
import { WindowBuilder } from "../../../../predictor/window/window-builder.ts";
import { NOW_MS, aSpan, jsonRequest, protobufRequest, recordsOf } from "./messages.ts";

type Records = ReturnType<typeof recordsOf>;

let receiver: OtlpReceiver | undefined;
afterEach(async () => {
  await receiver?.stop();
  receiver = undefined;
});

/** Starts a receiver that keeps what it got. */
async function started(more: Partial<OtlpReceiverOptions> = {}): Promise<{ url: string; received: Records }> {
  const received: Records = [];
  receiver = await startOtlpReceiver({
    listen: "127.0.0.1:0",
    onSpans: (batch) => {
      received.push(...recordsOf(batch));
      return { accepted: batch.length, rejected: 0, reasons: {} };
    },
    ...more,
  });
  return { url: `${receiver.address}/v1/traces`, received };
}

const PROTOBUF_TYPE = { "content-type": "application/x-protobuf" };
const JSON_TYPE = { "content-type": "application/json" };

async function post(
  url: string,
  body: Uint8Array | string,
  headers: Record<string, string>,
): Promise<Response> {
  return fetch(url, { method: "POST", body, headers });
}

/** `google.rpc.Status` from its protobuf form. */
function statusOf(bytes: Uint8Array): { code: number; message: string } {
  const reader = protobuf.Reader.create(bytes);
  expect(reader.uint32()).toBe(8);
  const code = reader.int32();
  expect(reader.uint32()).toBe(18);
  return { code, message: reader.string() };
}

/** Resolves when the other side has closed the connection, properly or not. */
async function closed(socket: Socket): Promise<void> {
  socket.on("error", () => undefined).resume();
  await new Promise((resolve) => socket.once("close", resolve));
}

const body = protobufRequest([aSpan()]);

const silentMetrics = (more: Partial<ReceiverMetrics>): ReceiverMetrics => ({
  request: () => undefined,
  refused: () => undefined,
  connections: () => undefined,
  durations: () => undefined,
  logs: () => undefined,
  spans: () => undefined,
  bytes: () => undefined,
  ...more,
});

/** A histogram of durations and a gauge. */
const metricsRequest = (): unknown => ({
  resourceMetrics: [
    {
      resource: { attributes: [{ key: "service.name", value: { stringValue: "cart" } }] },
      scopeMetrics: [
        {
          metrics: [
            {
              name: "http.server.request.duration",
              unit: "s",
              histogram: {
                aggregationTemporality: 1,
                dataPoints: [
                  {
                    startTimeUnixNano: `${NOW_MS - 10_000}000000`,
                    timeUnixNano: `${NOW_MS}000000`,
                    count: "3",
                    sum: 0.3,
                    bucketCounts: ["1", "2"],
                    explicitBounds: [0.1],
                  },
                ],
              },
            },
            { name: "process.memory", gauge: { dataPoints: [{ asInt: "1" }] } },
          ],
        },
      ],
    },
  ],
});

describe("OTLP/HTTP receiver", () => {
  it.each(["none", "gzip"])(
    "takes what an OpenTelemetry SDK exports, compression %s",
    async (compression) => {
      const { url, received } = await started();
      const exporter = new OTLPTraceExporter({ url, compression: compression as never });
      const provider = new BasicTracerProvider({
        resource: resourceFromAttributes({ "service.name": "frontend", "service.instance.id": "frontend-1" }),
        spanProcessors: [new BatchSpanProcessor(exporter)],
      });
      const tracer = provider.getTracer("test");
      const root = tracer.startSpan("GET /hotels", { kind: SpanKind.SERVER, startTime: NOW_MS });
      const inContext = trace.setSpan(context.active(), root);
      const call = tracer.startSpan("search", { kind: SpanKind.CLIENT, startTime: NOW_MS + 2 }, inContext);
      call.setStatus({ code: SpanStatusCode.ERROR });
      call.end(NOW_MS + 6);
      root.end(NOW_MS + 10);
      await provider.shutdown();
      const { traceId, spanId } = root.spanContext();
      expect(received).toHaveLength(2);
      expect(received[0]).toMatchObject({ traceId, parentId: spanId, kind: 3, error: 1, durationNs: 4e6 });
      expect(received[1]).toMatchObject({
        spanId,
        name: "GET /hotels",
        kind: 2,
        error: 0,
        durationNs: 10e6,
        resource: { service: "frontend", instance: "frontend-1" },
      });
    },
  );

  it.each([
    { what: "protobuf", content: body, headers: PROTOBUF_TYPE, answer: "" },
    {
      what: "gzip",
      content: gzipSync(body),
      headers: { ...PROTOBUF_TYPE, "content-encoding": "gzip" },
      answer: "",
    },
    { what: "JSON", content: JSON.stringify(jsonRequest([aSpan()])), headers: JSON_TYPE, answer: "{}" },
    {
      what: "JSON with a charset",
      content: JSON.stringify(jsonRequest([aSpan()])),
      headers: { "content-type": "Application/JSON; charset=utf-8" },
      answer: "{}",
    },
  ])("takes $what and answers alike", async ({ content, headers, answer }) => {
    const { url, received } = await started();
    const response = await post(url, content, headers);
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toContain(
      headers["content-type"].split(";")[0]!.toLowerCase(),
    );
    expect(await response.text()).toBe(answer);
    expect(received).toMatchObject([{ name: "GET /hotels" }]);
  });

  it("tells how many spans were rejected and why", async () => {
    const onSpans = () => ({ accepted: 1, rejected: 3, reasons: { "too-old": 2, late: 1 } });
    const { url } = await started({ onSpans });
    const json = await post(url, JSON.stringify(jsonRequest([])), JSON_TYPE);
    expect(await json.json()).toEqual({
      partialSuccess: { rejectedSpans: "3", errorMessage: "too-old: 2, late: 1" },
    });
    const reader = protobuf.Reader.create(
      Buffer.from(await (await post(url, body, PROTOBUF_TYPE)).arrayBuffer()),
    );
    expect([reader.uint32(), reader.uint32() > 0, reader.uint32()]).toEqual([10, true, 8]);
    expect(Number(reader.int64())).toBe(3);
    expect([reader.uint32(), reader.string()]).toEqual([18, "too-old: 2, late: 1"]);
  });

  it.each([
    { what: "truncated protobuf", content: body.subarray(0, 50), headers: {} },
    { what: "no gzip", content: body, headers: { "content-encoding": "gzip" } },
    {
      what: "truncated gzip",
      content: gzipSync(body).subarray(0, 40),
      headers: { "content-encoding": "gzip" },
    },
  ])("answers $what with 400 and a status in protobuf", async ({ content, headers }) => {
    const { url, received } = await started();
    const response = await post(url, content, { ...PROTOBUF_TYPE, ...headers });
    expect(response.status).toBe(400);
    expect(response.headers.get("content-type")).toBe("application/x-protobuf");
    expect(statusOf(Buffer.from(await response.arrayBuffer()))).toMatchObject({ code: 3 });
    expect(received).toEqual([]);
  });

  it.each([
    { what: "another content type", headers: { "content-type": "text/plain" }, status: 415, code: 3 },
    { what: "another encoding", headers: { ...JSON_TYPE, "content-encoding": "br" }, status: 415, code: 12 },
    { what: "malformed JSON", headers: JSON_TYPE, status: 400, code: 3 },
  ])("answers $what with $status and a status in JSON", async ({ code, headers, status }) => {
    const { url } = await started();
    const response = await post(url, "{", headers);
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ code, message: expect.any(String) as string });
  });

  it("refuses what a browser sends for a page, whatever name the page has for the receiver", async () => {
    const { url, received } = await started();
    const response = await post(url, body, { ...PROTOBUF_TYPE, origin: new URL(url).origin });
    expect(response.status).toBe(403);
    expect(statusOf(Buffer.from(await response.arrayBuffer())).code).toBe(7);
    expect(received).toEqual([]);
  });

  it("names the paths that it takes where it is asked for another one", async () => {
    const { url } = await started();
    const response = await post(url.replace("traces", "profiles"), "{}", JSON_TYPE);
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      code: 5,
      message: "this port takes POST /v1/traces, /v1/metrics, /v1/logs, /api/v2/spans",
    });
    expect((await fetch(url)).status).toBe(404);
  });

  it.each(["/v1/traces/", "//v1/traces", "/v1/traces?team=shop"])("takes spans at %s", async (path) => {
    const { url, received } = await started();
    expect((await post(new URL(url).origin + path, body, PROTOBUF_TYPE)).status).toBe(200);
    expect(received).toHaveLength(1);
  });

  it("takes logs and says nothing of them, so that programs that send all signals do not complain", async () => {
    const bytes: number[] = [];
    const { url, received } = await started({
      metrics: silentMetrics({ logs: (count) => bytes.push(count) }),
    });
    const logs = url.replace("traces", "logs");
    expect(await (await post(logs, '{"resourceLogs":[]}', JSON_TYPE)).text()).toBe("{}");
    const compressed = { ...PROTOBUF_TYPE, "content-encoding": "gzip" };
    const response = await post(logs, gzipSync("anything"), compressed);
    expect(response.status).toBe(200);
    expect((await response.arrayBuffer()).byteLength).toBe(0);
    expect(bytes).toEqual([19, gzipSync("anything").length]);
    expect(received).toEqual([]);
  });

  it("takes metrics of any kind and hands on histograms of request durations", async () => {
    const offered: DurationPoint[] = [];
    const taken: unknown[] = [];
    const { url } = await started({
      metrics: silentMetrics({ durations: (counts) => taken.push(counts) }),
      onDurations: (points) => {
        offered.push(...points);
        return { accepted: points.length - 1, rejected: 1, reasons: { "too-old": 1 } };
      },
    });
    const response = await post(
      url.replace("traces", "metrics"),
      JSON.stringify(metricsRequest()),
      JSON_TYPE,
    );
    expect(await response.json()).toEqual({
      partialSuccess: { rejectedDataPoints: "1", errorMessage: "too-old: 1" },
    });
    expect(offered.map(({ resource, role }) => [resource.service, role])).toEqual([["cart", "served"]]);
    expect(taken).toEqual([expect.objectContaining({ accepted: 0, rejected: 1, discarded: 1 })]);
  });

  it("tells what it passed over, where a sender writes something else than spans", async () => {
    const { url } = await started();
    const response = await post(url, '{"resourceSpan":[],"spans":[{}]}', JSON_TYPE);
    expect(await response.json()).toEqual({
      partialSuccess: { rejectedSpans: "0", errorMessage: "not understood: resourceSpan, spans" },
    });
  });

  it("answers 500, tells its owner and goes on when the consumer throws", async () => {
    const errors: unknown[] = [];
    const { url } = await started({
      onSpans: () => {
        throw new Error("consumer broke");
      },
      onError: (error) => errors.push(error),
    });
    const response = await post(url, "{}", JSON_TYPE);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain("consumer broke");
    expect(errors).toEqual([expect.objectContaining({ message: "consumer broke" })]);
    expect((await post(url, "{}", JSON_TYPE)).status).toBe(500);
  });

  it("counts requests, bytes and spans", async () => {
    const told: unknown[][] = [];
    const metrics: ReceiverMetrics = {
      request: (...values) => told.push(["request", ...values]),
      refused: (...values) => told.push(["refused", ...values]),
      connections: () => undefined,
      durations: () => undefined,
      logs: () => undefined,
      spans: (...values) => told.push(["spans", ...values]),
      bytes: (...values) => told.push(["bytes", ...values]),
    };
    const { url } = await started({ metrics });
    await post(url, body, PROTOBUF_TYPE);
    await post(url, "{", JSON_TYPE);
    await expect.poll(() => told).toHaveLength(5);
    expect(told).toEqual([
      ["bytes", "http", body.length],
      ["spans", 1, 0],
      ["request", "http", "200"],
      ["refused", "http", "malformed"],
      ["request", "http", "400"],
    ]);
  });

  it("says which address it cannot have", async () => {
    const { url } = await started();
    const listen = new URL(url).host;
    const onSpans = () => ({ accepted: 0, rejected: 0, reasons: {} });
    await expect(startOtlpReceiver({ listen, onSpans })).rejects.toThrow(
      `cannot listen on ${listen}; choose another with --otlp-listen`,
    );
    await expect(startOtlpReceiver({ listen: "4318", onSpans })).rejects.toThrow("'4318' is not host:port");
  });
});

describe("OTLP/HTTP receiver under attack", () => {
  it.each([
    { what: "a body of 50 MB with its length", content: Buffer.alloc(50e6), headers: {} },
    { what: "50 MB without a length", content: Buffer.alloc(50e6), headers: {}, chunked: true },
    { what: "5 MB called gzip", content: Buffer.alloc(5e6), headers: { "content-encoding": "gzip" } },
    {
      what: "1 GB in 1 MB of gzip",
      content: gzipSync(Buffer.alloc(1e9)),
      headers: { "content-encoding": "gzip" },
    },
    {
      what: "a body of fewer bytes than are allowed that has no ids, since it becomes 1,000 times as large",
      content: gzipSync(Buffer.alloc(16e6)),
      headers: { "content-encoding": "gzip" },
    },
  ])("answers $what with 413 and holds little of it", async ({ content, headers, chunked }) => {
    const { url, received } = await started();
    const before = process.memoryUsage.rss();
    const sent = chunked === true ? new Blob([content]).stream() : content;
    const init = { method: "POST", body: sent, headers: { ...PROTOBUF_TYPE, ...headers }, duplex: "half" };
    const response = await fetch(url, init as RequestInit);
    expect(response.status).toBe(413);
    expect(statusOf(Buffer.from(await response.arrayBuffer())).code).toBe(8);
    expect(process.memoryUsage.rss() - before).toBeLessThan(200e6);
    expect((await post(url, body, PROTOBUF_TYPE)).status).toBe(200);
    expect(received).toHaveLength(1);
  });

  it("answers 503 with Retry-After to the half-sent request that must make way for another one", async () => {
    const { url } = await started({ limits: { maxConcurrentRequests: 1, retryAfterSeconds: 7 } });
    const { hostname, port } = new URL(url);
    const slow = connect(Number(port), hostname);
    let answer = "";
    slow.setEncoding("utf8").on("data", (text: string) => (answer += text));
    await once(slow, "connect");
    slow.write(
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{`,
    );
    await expect
      .poll(async () => {
        expect((await post(url, "{}", JSON_TYPE)).status).toBe(200);
        return answer;
      })
      .toMatch(/^HTTP\/1.1 503 [^]*retry-after: 7\r\n[^]*"code":14/);
    slow.destroy();
  });

  it("answers 503 beyond the bytes it holds at once", async () => {
    const { url } = await started({ limits: { maxBufferedBytes: 1_000 } });
    expect((await post(url, `"${"x".repeat(2_000)}"`, JSON_TYPE)).status).toBe(503);
    expect((await post(url, "{}", JSON_TYPE)).status).toBe(200);
  });

  it("cuts off a sender that takes too long", async () => {
    const { url } = await started({ limits: { requestTimeoutMs: 100 } });
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    );
    await closed(socket);
    expect((await post(url, "{}", JSON_TYPE)).status).toBe(200);
  });

  it("stops while a sender is in the middle of a request", async () => {
    const { url } = await started();
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.write(
      "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{",
    );
    await once(socket, "connect");
    const ended = closed(socket);
    await receiver?.stop();
    await ended;
  });

  it("stays bounded and goes on counting through thousands of service names and broken parents", async () => {
    const builder = new WindowBuilder({ windowSeconds: 15, namespace: "shop", maxServices: 100 });
    const { url } = await started({ onSpans: (batch) => builder.add(batch, NOW_MS + 100) });
    const bad = [
      aSpan({ spanId: "00000000000000b1", parentId: "00000000000000b1" }),
      aSpan({ spanId: "00000000000000b2", parentId: "00000000000000b3" }),
      aSpan({ spanId: "00000000000000b3", parentId: "00000000000000b2" }),
      aSpan({ spanId: "00000000000000b4", endMs: NOW_MS - 1 }),
    ];
    expect((await post(url, protobufRequest(bad), PROTOBUF_TYPE)).status).toBe(200);
    const before = process.memoryUsage.rss();
    for (let round = 0; round < 10; round += 1) {
      // Requests of many resources follow each other in one message as the parts of a protobuf message may.
      const parts = Array.from({ length: 2_000 }, (_, index) =>
        protobufRequest([aSpan()], { "service.name": `s${round}-${index}` }),
      );
      expect((await post(url, Buffer.concat(parts), PROTOBUF_TYPE)).status).toBe(200);
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(150e6);
    expect(builder.totals()).toMatchObject({
      services: 100,
      drops: { "negative-duration": 1, "service-limit": 19_901 },
    });
  });
});
