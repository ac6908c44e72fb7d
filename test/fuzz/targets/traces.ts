import { WindowSet } from "@tradewind/core/contract/window.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { EndpointError } from "@tradewind/core/net/endpoint/error.ts";
import type { EndpointClient } from "@tradewind/core/net/endpoint/client.ts";
import { JaegerOptions } from "@tradewind/predictor/sources/jaeger/options.ts";
import { JaegerSource } from "@tradewind/predictor/sources/jaeger/jaeger-source.ts";
import type { SpanSource } from "@tradewind/predictor/sources/source.ts";
import { TempoOptions } from "@tradewind/predictor/sources/tempo/options.ts";
import { TempoSource } from "@tradewind/predictor/sources/tempo/tempo-source.ts";
import { hexId } from "@tradewind/predictor/sources/otlp/ids.ts";
import { nestsDeeperThan } from "@tradewind/predictor/sources/otlp/json-depth.ts";
import { readStoredOtlp } from "@tradewind/predictor/sources/traces/stored-otlp.ts";
import { DEFAULT_RECEIVER_LIMITS } from "@tradewind/predictor/sources/otlp/limits.ts";
import type { SpanDecoder } from "@tradewind/predictor/sources/otlp/span-decoder.ts";
import { ZipkinJsonDecoder, ZipkinProtobufDecoder } from "@tradewind/predictor/sources/otlp/decode-zipkin.ts";
import { ZipkinOptions, ZipkinSource } from "@tradewind/predictor/sources/traces/zipkin-source.ts";
import { NO_RESOURCES } from "@tradewind/predictor/window/resources.ts";
import { DERIVED_KIND, SPAN_KIND, SpanBatch } from "@tradewind/predictor/window/span.ts";
import { WindowBuilder } from "@tradewind/predictor/window/window-builder.ts";
import { jaegerTraces, tempoTrace, traffic } from "../../predictor/sources/traffic.ts";
import { zipkinProtobuf } from "../../predictor/sources/traces/zipkin-spans.ts";
import { attempt, attemptAsync, expect, jsonText, never } from "../engine/oracle.ts";
import { ProtobufMutator } from "../engine/protobuf.ts";
import type { Target } from "../engine/target.ts";
import { bytesTarget, textTarget, valueTarget } from "./kinds.ts";

const START_MS = 1_800_000_000_000;
const INTERVAL = { startMs: START_MS, endMs: START_MS + 15_000 };
const TRAFFIC = traffic(INTERVAL.startMs, 2, 1, 11);
const TRACE_ID = TRAFFIC.spans[0]?.traceId ?? "";
const JAEGER_ANSWER = { data: jaegerTraces(TRAFFIC, INTERVAL.startMs, INTERVAL.endMs), errors: null };
const TEMPO_TRACE = tempoTrace(TRAFFIC, TRACE_ID);

const isEndpointError = (error: unknown): boolean => error instanceof EndpointError;

/** Every call gets the answer that `bodyOf` gives for its path, as if a server had sent it. */
export function answerWith(endpoint: EndpointClient, bodyOf: (path: string, query: string) => unknown): void {
  endpoint.call = async ({ path, query }) => {
    const text = typeof query?.["query"] === "string" ? query["query"] : "";
    const body = jsonText(bodyOf(path, text)) ?? "";
    return { status: 200, body: Buffer.from(body), seconds: 0 };
  };
}

/** Pulls one interval and forms windows of what came; they hold to their contract. */
async function pull(source: SpanSource): Promise<void> {
  const builder = new WindowBuilder({ windowSeconds: 15, namespace: "shop", maxPastSeconds: 1e9 });
  await attemptAsync(
    async () => source.pull(INTERVAL, (batch) => builder.add(batch, INTERVAL.endMs)),
    isEndpointError,
  );
  const set = builder.build(INTERVAL.startMs, INTERVAL.endMs, NO_RESOURCES, INTERVAL.endMs + 200_000);
  const parsed = WindowSet.safeParse(set);
  expect(parsed.success, "contract", () => `the windows are not valid: ${parsed.error?.message ?? ""}`);
}

function jaeger(api: "v1" | "v3", seeds: readonly unknown[]): Target {
  return valueTarget(
    `jaeger/${api}`,
    seeds,
    async (value) => {
      const options = JaegerOptions.parse({
        url: "http://jaeger:16686",
        api,
        services: ["front"],
        maxRequests: 4,
      });
      const source = new JaegerSource(options, () => ["front"]);
      answerWith(source.endpoint, () => value);
      await pull(source);
    },
    "slow",
  );
}

function tempo(api: "v1" | "v2", trace: unknown): Target {
  const seed = { search: { traces: [{ traceID: TRACE_ID }, { traceID: "ab12" }] }, trace };
  return valueTarget(
    `tempo/${api}`,
    [seed],
    async (value) => {
      const options = TempoOptions.parse({ url: "http://tempo:3200", api, maxRequests: 4 });
      const source = new TempoSource(options, () => ["front"]);
      const { search, trace: found } = (value ?? {}) as { search?: unknown; trace?: unknown };
      answerWith(source.endpoint, (path) => (path === "api/search" ? search : found));
      await pull(source);
    },
    "slow",
  );
}

const ZIPKIN_SPANS = [
  {
    traceId: TRACE_ID,
    id: "a1a2a3a4a5a6a7a8",
    kind: "CLIENT",
    name: "get",
    timestamp: 1_800_000_000_000_000,
    duration: 25_000,
  },
  {
    traceId: "060708090a0b0c0d",
    id: "a1a2a3a4a5a6a7a8",
    parentId: "b1b2b3b4b5b6b7b8",
    kind: "SERVER",
    shared: true,
    timestamp: 1_800_000_000_002_000,
    duration: 20_000,
    localEndpoint: { serviceName: "cart", ipv4: "10.0.0.7", port: 80 },
    tags: { error: "500", "k8s.pod.name": "cart-1", "http.user_agent": "kube-probe/1.34" },
  },
];

const zipkinSource = valueTarget(
  "zipkin/v2",
  [[ZIPKIN_SPANS], []],
  async (value) => {
    const options = ZipkinOptions.parse({ url: "http://zipkin:9411", services: ["front"], maxRequests: 4 });
    const source = new ZipkinSource(options, () => ["front"]);
    answerWith(source.endpoint, () => value);
    await pull(source);
  },
  "slow",
);

/** Spans that are read have ids, a kind and a time. */
function decodeZipkin(decoder: SpanDecoder, bytes: Uint8Array): void {
  const batch = new SpanBatch();
  batch.clear(1_800_000_000_000);
  attempt(
    () => [...decoder.steps(bytes, batch)],
    (error) => error instanceof TradewindError,
  );
  for (let index = 0; index < batch.length; index += 1) {
    const isTimed = Number.isFinite(batch.startNs[index]) && Number.isFinite(batch.durationNs[index]);
    expect(isTimed, "time", () => "a span without a time");
    expect((batch.kind[index] ?? 9) <= SPAN_KIND.consumer, "kind", () => `span kind ${batch.kind[index]}`);
  }
}

const zipkinJson = valueTarget("zipkin/json", [ZIPKIN_SPANS], (value) => {
  const text = jsonText(value);
  if (text !== undefined) decodeZipkin(new ZipkinJsonDecoder(DEFAULT_RECEIVER_LIMITS), Buffer.from(text));
});

const zipkinBytes = bytesTarget(
  "zipkin/protobuf",
  new ProtobufMutator([zipkinProtobuf(ZIPKIN_SPANS)], ["error"]),
  (bytes) => decodeZipkin(new ZipkinProtobufDecoder(DEFAULT_RECEIVER_LIMITS), bytes),
);

const ids = textTarget(
  "traces/ids",
  ["0102030405060708090a0b0c0d0e0f10", "AQIDBAUGBwg=", "00000000000000000102030405060708", "1f"],
  (text) => {
    for (const bytes of [8, 16]) {
      const id = attempt(() => hexId(text, bytes), never);
      const isId =
        id === undefined || (/^[0-9a-f]+$/.test(id) && id.length === 2 * bytes && !/^0+$/.test(id));
      expect(isId, "id", () => `${JSON.stringify(id)} is no id of ${bytes} bytes`);
    }
  },
  { words: ["0", "f", "=", "+", "/", "-", "_"] },
);

/** Counts as the scan does, on a document that is known to be JSON. */
function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

const depth = valueTarget("traces/json-depth", [JAEGER_ANSWER, '"[{\\"', ["]", { "}": "\\" }]], (value) => {
  const text = jsonText(value);
  if (text === undefined || text.length > 20_000) return;
  const deep = depthOf(JSON.parse(text));
  const bytes = Buffer.from(text);
  expect(
    !nestsDeeperThan(bytes, deep) && (deep === 0 || nestsDeeperThan(bytes, deep - 1)),
    "depth",
    () => `depth ${deep}`,
  );
});

const storedOtlp = valueTarget("traces/stored-otlp", [TEMPO_TRACE], (value) => {
  const read = attempt(() => readStoredOtlp(value), never);
  for (const { durationMs, kind, spanId, startMs, traceId } of read?.spans ?? []) {
    expect(traceId.length === 32 && spanId.length === 16, "id", () => `${traceId} ${spanId}`);
    expect(Number.isFinite(startMs) && Number.isFinite(durationMs), "time", () => `${startMs} ${durationMs}`);
    expect(
      Object.values<number>({ ...SPAN_KIND, ...DERIVED_KIND }).includes(kind),
      "kind",
      () => `span kind ${kind}`,
    );
  }
});

export const TRACE_TARGETS: readonly Target[] = [
  jaeger("v1", [JAEGER_ANSWER]),
  jaeger("v3", [{ result: TEMPO_TRACE }]),
  tempo("v1", TEMPO_TRACE),
  tempo("v2", { trace: TEMPO_TRACE }),
  zipkinSource,
  zipkinJson,
  zipkinBytes,
  depth,
  ids,
  storedOtlp,
];
