import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { ZodError } from "zod";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { WindowSet } from "@tradewind/core/contract/window.ts";
import { BodyWork } from "@tradewind/predictor/sources/otlp/body-work.ts";
import { compressionOf, decompressed } from "@tradewind/predictor/sources/otlp/compression.ts";
import { JsonDecoder } from "@tradewind/predictor/sources/otlp/decode-json.ts";
import { ProtobufDecoder } from "@tradewind/predictor/sources/otlp/decode-protobuf.ts";
import { Refusal } from "@tradewind/predictor/sources/otlp/refusal.ts";
import { JSON_TYPE, PROTOBUF } from "@tradewind/predictor/sources/otlp/responses.ts";
import type { OtlpEncoding } from "@tradewind/predictor/sources/otlp/responses.ts";
import { SpanIntake } from "@tradewind/predictor/sources/otlp/span-intake.ts";
import type { OnSpans } from "@tradewind/predictor/sources/otlp/span-intake.ts";
import { MetricBatch } from "@tradewind/predictor/sources/otlp/pushed-metrics/batch.ts";
import { MetricJsonDecoder } from "@tradewind/predictor/sources/otlp/pushed-metrics/decode-json.ts";
import { MetricProtobufDecoder } from "@tradewind/predictor/sources/otlp/pushed-metrics/decode-protobuf.ts";
import { PushedMetrics } from "@tradewind/predictor/sources/otlp/pushed-metrics/pushed-metrics.ts";
import { Admission } from "@tradewind/predictor/sources/otlp/admission.ts";
import { DEFAULT_RECEIVER_LIMITS } from "@tradewind/predictor/sources/otlp/limits.ts";
import { adjustedCount } from "@tradewind/predictor/sources/otlp/trace-state.ts";
import { intervalAt } from "@tradewind/predictor/window/interval.ts";
import { SPAN_KIND } from "@tradewind/predictor/window/span.ts";
import type { SpanBatch } from "@tradewind/predictor/window/span.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import {
  emptyBatch,
  jsonRequest,
  NOW_MS,
  protobufRequest,
  recordsOf,
  aSpan,
} from "../../predictor/sources/otlp/messages.ts";
import type { WireSpan } from "../../predictor/sources/otlp/messages.ts";
import { metricsJson, metricsProtobuf } from "../../predictor/sources/otlp/pushed-metrics/otlp-metrics.ts";
import type { WireMetric } from "../../predictor/sources/otlp/pushed-metrics/otlp-metrics.ts";
import { ByteMutator } from "../engine/bytes.ts";
import { below, between, oneIn, pick } from "../engine/draw.ts";
import { attempt, attemptAsync, expect, expectEqual, jsonText, never } from "../engine/oracle.ts";
import { ProtobufMutator } from "../engine/protobuf.ts";
import type { Target } from "../engine/target.ts";
import { ValueMutator } from "../engine/values.ts";
import { bytesTarget, textTarget, valueTarget } from "./kinds.ts";

const CALL = [
  aSpan({ name: "GET /", attributes: { "http.request.method": "GET" }, traceState: "ot=th:c;rv:1f" }),
  aSpan({
    spanId: "b1b2b3b4b5b6b7b8",
    parentId: "a1a2a3a4a5a6a7a8",
    kind: 3,
    startMs: NOW_MS + 1,
    endMs: NOW_MS + 20,
  }),
  aSpan({
    spanId: "c1c2c3c4c5c6c7c8",
    parentId: "b1b2b3b4b5b6b7b8",
    statusCode: 2,
    startMs: NOW_MS + 2,
    endMs: NOW_MS + 19,
  }),
];
const RESOURCE = { "service.name": "frontend", "k8s.pod.name": "frontend-1", "service.instance.id": "i" };
const MESSAGES = [
  protobufRequest(CALL, RESOURCE),
  protobufRequest([CALL[0] as WireSpan]),
  protobufRequest([]),
];
const DOCUMENTS = [jsonRequest(CALL, RESOURCE), jsonRequest([CALL[0] as WireSpan]), {}];
const CLOCK = { nowMs: () => NOW_MS, monotonicMs: () => NOW_MS };

/** What decoders promise of a batch. */
function expectBatch(batch: SpanBatch): void {
  expect(batch.length >= 0 && batch.invalidIds >= 0, "batch", () => `a batch of ${batch.length} spans`);
  for (let index = 0; index < batch.length; index += 1) {
    const resource = batch.resources[batch.resource[index] ?? -1];
    const kind = batch.kind[index] ?? -1;
    const count = batch.adjustedCount[index] ?? Number.NaN;
    expect(
      resource !== undefined && resource.service.length <= 804,
      "resource",
      () => "a span without a resource",
    );
    expect(
      Number.isFinite(batch.startNs[index]) && Number.isFinite(batch.durationNs[index]),
      "time",
      () => "a span without a time",
    );
    expect(kind >= 0 && kind <= SPAN_KIND.consumer, "kind", () => `span kind ${kind}`);
    expect(
      count === 0 || (count >= 1 && Number.isFinite(count)),
      "count",
      () => `a span counts for ${count}`,
    );
  }
}

/** The body is no such message, or has more parts than one may have. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Refusal && (error.statusCode === 400 || error.statusCode === 413);

/** One sender may send here as fast as it can. */
const LIMITS = {
  ...DEFAULT_RECEIVER_LIMITS,
  maxSenderSpansPerSecond: Number.MAX_SAFE_INTEGER,
  maxSenderBytesPerSecond: Number.MAX_SAFE_INTEGER,
};
const MAX_BODY_BYTES = 16 * 2 ** 20;

/** Takes one body as a receiver does. */
async function take(body: Uint8Array, form: OtlpEncoding, onSpans: OnSpans): Promise<void> {
  const admission = new Admission(LIMITS, CLOCK);
  const work = new BodyWork({ clock: CLOCK, limits: LIMITS, admission });
  const intake = new SpanIntake({ clock: CLOCK, limits: LIMITS, work, onSpans });
  const call = admission.admit("10.0.0.1");
  const offered = { bytes: body, compression: "none" as const, maxBytes: MAX_BODY_BYTES, form };
  await attemptAsync(async () => intake.take(offered, call), isRefusal);
  call.end();
}

function intakeOf(encoding: OtlpEncoding): (body: Uint8Array) => Promise<void> {
  return async (body) =>
    take(body, encoding, (batch) => {
      expectBatch(batch);
      return { accepted: batch.length, rejected: batch.invalidIds, reasons: {} };
    });
}

/** Spans in time for a window, from any message; the windows hold to their contract. */
const WINDOW_SECONDS = 15;
async function buildWindows(body: Uint8Array): Promise<void> {
  const builder = new WindowBuilder({ windowSeconds: WINDOW_SECONDS, namespace: "shop" });
  for (let times = 0; times < 2; times += 1) {
    await take(body, JSON_TYPE, (batch) => builder.add(batch, NOW_MS));
  }
  const { endMs, startMs } = intervalAt(NOW_MS, WINDOW_SECONDS);
  const set = attempt(() => builder.build(startMs, endMs, NO_RESOURCES, endMs + 200_000), never);
  const parsed = WindowSet.safeParse(set);
  expect(parsed.success, "contract", () => `the windows are not valid: ${parsed.error?.message ?? ""}`);
}

const ids = ["0102030405060708", "1112131415161718", "2122232425262728", "3132333435363738"];

/** A trace whose spans refer to each other in any way, cycles and strangers among them. */
const tangledTraces: Target = {
  name: "window/tangled-traces",
  kind: "slow",
  make: (rng) => {
    const spans = Array.from({ length: between(rng, 1, 12) }, () =>
      aSpan({
        traceId: oneIn(rng, 3) ? "ff".repeat(16) : "0102030405060708090a0b0c0d0e0f10",
        spanId: pick(rng, ids),
        ...(oneIn(rng, 4) ? {} : { parentId: pick(rng, ids) }),
        kind: below(rng, 6),
        name: pick(rng, ["GET /", "", "名", "x".repeat(900)]),
        startMs: NOW_MS + pick(rng, [0, 1, -1, 500, -100_000, 1e-3]),
        endMs: NOW_MS + pick(rng, [0, 1, 5, 1e4, -1, 25_000]),
        ...(oneIn(rng, 3)
          ? { traceState: pick(rng, ["ot=th:c", "ot=th:ffffffffffffff", "ot=th:0", "x"]) }
          : {}),
        statusCode: below(rng, 3),
      }),
    );
    const half = Math.ceil(spans.length / 2);
    const [a, b] = [spans.slice(0, half), spans.slice(half)].map((part, index) =>
      jsonRequest(part, {
        "service.name": index === 0 ? "frontend" : pick(rng, ["geo", "", "\u0000", "a".repeat(201)]),
      }),
    ) as [{ resourceSpans: unknown[] }, { resourceSpans: unknown[] }];
    return { resourceSpans: [...a.resourceSpans, ...b.resourceSpans] };
  },
  run: async (input) => buildWindows(Buffer.from(jsonText(input) ?? "")),
};

const protobufDecoder = new ProtobufDecoder();
const jsonDecoder = new JsonDecoder();

/** The two encodings of the same spans give the same batch. */
const twoEncodings: Target = {
  name: "otlp/two-encodings",
  kind: "parser",
  make: (rng) =>
    Array.from({ length: between(rng, 1, 4) }, () => ({
      ...aSpan(),
      spanId: pick(rng, [...ids, "", "00", "0000000000000000"]),
      parentId: pick(rng, [...ids, "", "0000000000000000", "ab"]),
      traceState: pick(rng, ["", "ot=th:c", "ot=th:ffffffffffff", "a=b,ot=rv:1;th:8", "ot="]),
      name: pick(rng, ["GET /", "", "名前", "n".repeat(300)]),
      kind: below(rng, 8),
      startMs: NOW_MS + between(rng, -1_000, 1_000) + between(rng, 0, 999) / 1e3,
      endMs: NOW_MS + between(rng, -1_000, 5_000),
      statusCode: below(rng, 4),
    })),
  run: (input) => {
    const [protobuf, json] = [emptyBatch(), emptyBatch()];
    protobufDecoder.decode(protobufRequest(input as WireSpan[], RESOURCE), protobuf);
    jsonDecoder.decode(Buffer.from(JSON.stringify(jsonRequest(input as WireSpan[], RESOURCE))), json);
    // The one decoder keeps only the names that may be asked for.
    const records = (batch: SpanBatch) => recordsOf(batch).map((record) => ({ ...record, name: "" }));
    expectEqual(records(protobuf), records(json), "encodings");
    expectEqual(protobuf.invalidIds, json.invalidIds, "encodings");
  },
};

const MAX_INFLATED = 1 << 20;
const [MESSAGE = new Uint8Array(0)] = MESSAGES;
const BOMB = Buffer.alloc(4 * MAX_INFLATED);
const FIXTURES = join(import.meta.dirname, "../../fixtures/compressed");
const COMPRESSIONS = [
  {
    name: "gzip",
    samples: [
      gzipSync(MESSAGE),
      gzipSync(BOMB),
      gzipSync(Buffer.alloc(0)),
      Buffer.concat([gzipSync("a"), gzipSync("b")]),
    ],
  },
  { name: "deflate", samples: [deflateSync(MESSAGE), deflateSync(BOMB), deflateRawSync(MESSAGE)] },
  { name: "zstd", samples: [zstdCompressSync(MESSAGE), zstdCompressSync(BOMB)] },
  {
    name: "snappy",
    samples: ["text.snappy", "text.snappy-framed"].map((name) => readFileSync(join(FIXTURES, name))),
  },
  { name: "lz4", samples: [readFileSync(join(FIXTURES, "text.lz4"))] },
];

/** A histogram of each kind, as a process exports it twice. */
const metricsAt = (endMs: number, count: number): WireMetric[] => [
  {
    name: "http.server.request.duration",
    unit: "s",
    temporality: "cumulative",
    points: [
      {
        startMs: NOW_MS - 60_000,
        endMs,
        count,
        sum: count / 10,
        attributes: { "http.route": "/carts", "http.response.status_code": 200 },
        explicit: { bounds: [0.1, 0.5], counts: [count, 0, 0] },
      },
    ],
  },
  {
    name: "rpc.client.duration",
    unit: "ms",
    temporality: "delta",
    points: [
      {
        startMs: endMs - 15_000,
        endMs,
        count: 3,
        sum: 30,
        attributes: { "server.address": "stock.shop.svc" },
        exponential: { scale: 3, zeroCount: 1, offset: 20, counts: [1, 1] },
      },
    ],
  },
];
const EXPORTS = [metricsAt(NOW_MS - 15_000, 40), metricsAt(NOW_MS, 90)];

/** Metrics in any state, and the windows of what could be read: they hold to their contract. */
function takeMetrics(decoder: MetricJsonDecoder | MetricProtobufDecoder, bytes: Uint8Array): void {
  const pushed = new PushedMetrics(100);
  const [first] = EXPORTS.map((metrics) => metricsProtobuf(metrics, RESOURCE));
  for (const [reader, body] of [
    [new MetricProtobufDecoder(DEFAULT_RECEIVER_LIMITS), first as Uint8Array],
    [decoder, bytes],
  ] as const) {
    const batch = new MetricBatch();
    attempt(
      () => [...reader.steps(body, batch)],
      (error) => error instanceof TradewindError || error instanceof ZodError,
    );
    attempt(() => pushed.add(batch.points, NOW_MS), never);
  }
  const set = attempt(
    () => pushed.windows({ startMs: NOW_MS - 15_000, endMs: NOW_MS }, "shop", ["frontend"]),
    never,
  );
  const parsed = WindowSet.safeParse(set);
  expect(parsed.success, "contract", () => `the windows are not valid: ${parsed.error?.message ?? ""}`);
}

const metricTargets = [
  bytesTarget(
    "otlp/metrics-protobuf",
    new ProtobufMutator(
      EXPORTS.map((metrics) => metricsProtobuf(metrics, RESOURCE)),
      ["service.name"],
    ),
    (bytes) => takeMetrics(new MetricProtobufDecoder(DEFAULT_RECEIVER_LIMITS), bytes),
  ),
  valueTarget(
    "otlp/metrics-json",
    EXPORTS.map((metrics) => metricsJson(metrics, RESOURCE)),
    (value) => {
      const text = jsonText(value);
      if (text !== undefined) takeMetrics(new MetricJsonDecoder(DEFAULT_RECEIVER_LIMITS), Buffer.from(text));
    },
  ),
];

const OTLP_WORDS = [
  "resourceSpans",
  "scopeSpans",
  '"spans":',
  "null",
  "[{}]",
  "{},",
  '"traceId":""',
  "1e400",
  '"-1"',
];

export const OTLP_TARGETS: readonly Target[] = [
  bytesTarget("otlp/protobuf", new ProtobufMutator(MESSAGES, ["service.name"]), intakeOf(PROTOBUF)),
  bytesTarget(
    "otlp/json-text",
    new ByteMutator(
      DOCUMENTS.map((document) => JSON.stringify(document)),
      OTLP_WORDS,
    ),
    intakeOf(JSON_TYPE),
  ),
  jsonValues(),
  twoEncodings,
  tangledTraces,
  ...COMPRESSIONS.map(({ name, samples }) =>
    bytesTarget(`otlp/${name}`, new ByteMutator(samples), async (bytes) => {
      const compression = compressionOf(name);
      const body = await attemptAsync(async () => decompressed(bytes, compression, MAX_INFLATED), isRefusal);
      expect((body?.length ?? 0) <= MAX_INFLATED, "size", () => `a body of ${body?.length ?? 0} bytes`);
    }),
  ),
  ...metricTargets,
  textTarget(
    "otlp/trace-state",
    ["ot=th:c;rv:1f0000000000", "a=b, ot=th:ffffffffffff ,c=d", "ot=th:0"],
    (text) => {
      const count = attempt(() => adjustedCount(text), never) ?? Number.NaN;
      expect(
        count === 0 || (count >= 1 && Number.isFinite(count)),
        "count",
        () => `a span counts for ${count}`,
      );
    },
    { words: ["ot=", "th:", ";", ",", "ffffffffffffff", "rv:"] },
  ),
];

/** Documents with parts changed, to the windows they come to. */
function jsonValues(): Target {
  const documents = new ValueMutator(DOCUMENTS);
  return {
    name: "window/json-values",
    kind: "slow",
    make: (rng) => documents.make(rng),
    run: async (input) => buildWindows(Buffer.from(jsonText(input) ?? "")),
  };
}
