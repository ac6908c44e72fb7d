import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { Client, credentials, Metadata } from "@grpc/grpc-js";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { Agent, request } from "undici";
import { encodeMetricsRequest, encodeRef } from "../../test/exporter/serve/keda/wire.ts";
import type { Ref } from "../../test/exporter/serve/keda/wire.ts";
import { oneIn, pick } from "../../test/fuzz/engine/draw.ts";
import { aSpan, jsonRequest, protobufRequest } from "../../test/predictor/sources/otlp/messages.ts";
import {
  metricsJson,
  metricsProtobuf,
} from "../../test/predictor/sources/otlp/pushed-metrics/otlp-metrics.ts";
import { zipkinProtobuf } from "../../test/predictor/sources/traces/zipkin-spans.ts";
import type { RealProcess } from "../stage/process.ts";
import type { Cost, Target } from "./climb.ts";
import { enlarged, grown, jsonOf, RawJson } from "./grow.ts";
import { cpuSecondsOf } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** What a request may have at most, as it is sent. */
const MOST_BYTES = 256 * 1_024;
/** Of it before it is compressed. */
const MOST_PLAIN_BYTES = 16 * 2 ** 20;
/** Of a request line; Node refuses more than 16 KiB of head. */
const MOST_QUERY_BYTES = 15_000;
const ANSWER_MS = 120_000;
/** Long enough for the head of an answer that has no end. */
const HEAD_MS = 1_000;
const ENDLESS = new Set(["/v1/stream"]);

const ENCODINGS = ["identity", "gzip", "deflate", "zstd"] as const;
const METHODS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"] as const;
const PLAIN_PARAMETERS = { namespace: "default", application: "default" };

interface HttpAttempt {
  readonly method: (typeof METHODS)[number];
  readonly encoding: (typeof ENCODINGS)[number];
  readonly contentType: string;
  readonly query: Readonly<Record<string, unknown>>;
  /** Undefined: none is sent. */
  readonly body: unknown;
}

interface HttpDoor {
  readonly name: string;
  readonly url: string;
  /** Whose CPU it costs. */
  readonly processes: readonly RealProcess[];
  readonly seed: Partial<HttpAttempt>;
  readonly write?: (body: unknown) => Uint8Array | string;
}

const BODY_SHARES = 8;

const dispatcher = new Agent({ connections: 1, headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS });

function compressed(bytes: Uint8Array, encoding: HttpAttempt["encoding"]): Uint8Array {
  if (encoding === "gzip") return gzipSync(bytes);
  if (encoding === "deflate") return deflateSync(bytes);
  return encoding === "zstd" ? zstdCompressSync(bytes) : bytes;
}

function changedRequest(rng: Rng, attempt: HttpAttempt): HttpAttempt {
  if (oneIn(rng, 16)) return { ...attempt, method: pick(rng, METHODS) };
  if (oneIn(rng, 10)) return { ...attempt, encoding: pick(rng, ENCODINGS) };
  const most = attempt.encoding === "identity" ? MOST_BYTES : MOST_PLAIN_BYTES;
  if (attempt.body === undefined || oneIn(rng, 8)) {
    const query = grown(rng, attempt.query, MOST_QUERY_BYTES);
    return isRecord(query) ? { ...attempt, query } : attempt;
  }
  return { ...attempt, body: grown(rng, attempt.body, most) };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof RawJson);

function* enlargedRequests(sample: HttpAttempt): Generator<HttpAttempt> {
  if (sample.body === undefined)
    for (const query of enlarged(sample.query, MOST_QUERY_BYTES / 3))
      if (isRecord(query)) yield { ...sample, query };
  if (sample.body !== undefined)
    for (const body of enlarged(sample.body, MOST_BYTES)) yield { ...sample, body };
  if (sample.body !== undefined)
    for (const body of enlarged(null, MOST_PLAIN_BYTES)) yield { ...sample, encoding: "deflate", body };
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : jsonOf(value));

const queryOf = ({ query }: HttpAttempt): string =>
  Object.entries(query)
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(textOf(value).toWellFormed())}`)
    .join("&");

/** What a request costs, and how it was answered. */
async function send(
  { processes, url }: HttpDoor,
  { contentType, encoding, method }: HttpAttempt,
  query: string,
  body: Uint8Array | undefined,
): Promise<{ readonly cpuSeconds: number; readonly status: string }> {
  const headers = body === undefined ? {} : { "content-type": contentType, "content-encoding": encoding };
  const isEndless = ENDLESS.has(new URL(url).pathname);
  const signal = AbortSignal.timeout(isEndless ? HEAD_MS : ANSWER_MS);
  const before = await cpuSecondsOf(processes);
  let status = "ended";
  try {
    const options = { dispatcher, signal, method, headers, body: body ?? null };
    const answer = await request(`${url}${query === "" ? "" : `?${query}`}`, options);
    status = String(answer.statusCode);
    if (isEndless) answer.body.on("error", () => undefined).destroy();
    else await answer.body.dump({ limit: Number.MAX_SAFE_INTEGER });
  } catch {
    // Refused by ending the connection, or too late: what it cost until then counts.
  }
  return { cpuSeconds: (await cpuSecondsOf(processes)) - before, status };
}

async function costOfRequest(door: HttpDoor, attempt: HttpAttempt): Promise<Cost | undefined> {
  const { encoding, method } = attempt;
  const query = queryOf(attempt);
  const plain =
    attempt.body === undefined || method === "HEAD"
      ? undefined
      : Buffer.from((door.write ?? jsonOf)(attempt.body));
  if (query.length > MOST_QUERY_BYTES || (plain?.length ?? 0) > MOST_PLAIN_BYTES) return undefined;
  const body = plain && compressed(plain, encoding);
  const bytes = (body?.length ?? 0) + query.length;
  if (bytes > MOST_BYTES) return undefined;
  const { cpuSeconds, status } = await send(door, attempt, query, body);
  const shape = plain === undefined ? query.slice(0, 80) : plain.toString("latin1", 0, 80);
  return { cpuSeconds, bytes, about: `${method} ${encoding}, answered ${status}: ${shape}` };
}

function httpTarget(door: HttpDoor): Target<HttpAttempt> {
  const seed: HttpAttempt = {
    method: "GET",
    encoding: "identity",
    contentType: "application/json",
    query: PLAIN_PARAMETERS,
    body: undefined,
    ...door.seed,
  };
  return {
    name: door.name,
    shares: seed.body === undefined ? 1 : BODY_SHARES,
    sample: seed,
    enlarged: () => enlargedRequests(seed),
    change: changedRequest,
    cost: async (attempt) => {
      try {
        return await costOfRequest(door, attempt);
      } catch {
        // The change made a value that this encoding cannot write.
        return undefined;
      }
    },
  };
}

interface GrpcDoor {
  readonly name: string;
  readonly address: string;
  readonly path: string;
  readonly processes: readonly RealProcess[];
  readonly seed: unknown;
  readonly write: (value: unknown) => Uint8Array;
}

const asIs = (bytes: Buffer): Buffer => bytes;

function grpcTarget(
  { address, name, path, processes, seed, write }: GrpcDoor,
  clients: Client[],
): Target<unknown> {
  const client = new Client(address.replace("http://", ""), credentials.createInsecure());
  clients.push(client);
  const call = async (message: Buffer): Promise<string> =>
    new Promise((resolve) => {
      const deadline = Date.now() + ANSWER_MS;
      client.makeUnaryRequest(path, asIs, asIs, message, new Metadata(), { deadline }, (error) =>
        resolve(error === null ? "OK" : String(error.code)),
      );
    });
  return {
    name,
    shares: BODY_SHARES,
    sample: seed,
    enlarged: () => enlarged(seed, MOST_BYTES),
    change: (rng, value) => grown(rng, value, MOST_BYTES),
    cost: async (value) => {
      let message: Buffer;
      try {
        message = Buffer.from(write(value));
      } catch {
        return undefined;
      }
      if (message.length > MOST_BYTES) return undefined;
      const before = await cpuSecondsOf(processes);
      const status = await call(message);
      const cpuSeconds = (await cpuSecondsOf(processes)) - before;
      return {
        cpuSeconds,
        bytes: message.length,
        about: `answered ${status}: ${message.toString("latin1", 0, 80)}`,
      };
    },
  };
}

const WHAT_IF = { load: 1.5, services: [{ service: "geo", replicas: 3, cpuCores: 0.5, memoryBytes: 2e8 }] };
const PROPOSALS = [
  {
    name: "geo-default-cluster",
    target: { service: "geo", namespace: "default" },
    time: "2026-01-02T03:04:05Z",
    rules: ["scale", "createInstance"],
    configuration: { replicas: 3, cpu: 0.5, memory: "200Mi" },
    confidence: 80,
    rollback: { tailOverObjective: 1.5, withinSeconds: 60 },
    requires: [{ check: "nodeRoom" }],
    reason: "load",
  },
];
const LABEL = {
  fromMs: 1_750_000_000_000,
  toMs: 1_750_000_060_000,
  service: "geo",
  type: "cpu",
  source: "operator",
};
const SPANS = [aSpan({ traceState: "ot=th:c", attributes: { "http.route": "/hotels" } })];
const SPANS_WRITTEN = {
  spans: SPANS,
  resource: { "service.name": "frontend", "k8s.pod.name": "frontend-1" },
};
const RESOURCE = { "service.name": "frontend", "k8s.pod.name": "frontend-1" };
const METRICS = [
  {
    name: "http.server.request.duration",
    unit: "s",
    temporality: "delta" as const,
    points: [
      {
        startMs: 1_800_000_000_000,
        endMs: 1_800_000_010_000,
        count: 3,
        sum: 0.3,
        attributes: { "http.route": "/hotels", "http.response.status_code": 200 },
        explicit: { bounds: [0.1, 0.5], counts: [1, 1, 1] },
      },
    ],
  },
];
const ZIPKIN_SPANS = [
  {
    traceId: "463ac35c9f6413ad",
    id: "72485a3953bb6124",
    kind: "SERVER",
    name: "get /hotels",
    timestamp: 1_800_000_000_000_000,
    duration: 25_000,
    localEndpoint: { serviceName: "frontend", ipv4: "10.0.0.7" },
    tags: { "http.method": "GET" },
  },
];
const REF: Ref = { name: "so", namespace: "default", metadata: { service: "geo", scalerAddress: "a:1" } };

const writeSpans = (value: unknown): Uint8Array => {
  const { resource, spans } = value as typeof SPANS_WRITTEN;
  return protobufRequest(spans, resource);
};

const PREDICTOR_ROUTES: readonly string[] = [
  "/v1/applications",
  "/v1/plan",
  "/v1/plan/header",
  "/v1/windows",
  "/v1/measured",
  "/v1/course",
  "/v1/incidents",
  "/v1/sensitivities",
  "/v1/node-classes",
  "/v1/forecast",
  "/v1/context",
  "/v1/patterns",
  "/v1/explain",
  "/v1/routes",
  "/v1/transcripts",
  "/v1/decisions",
  "/v1/report",
  "/v1/shadow",
  "/v1/inputs",
  "/v1/inputs/0123456789abcdef",
  "/v1/proposals",
  "/v1/models/0123456789abcdef",
  "/v1/accuracy",
  "/metrics",
  "/healthz",
  "/readyz",
  "/nowhere",
];
const SCALER_ROUTES: readonly string[] = [
  "/",
  "/metrics",
  "/v1/recommendations",
  "/v1/stream",
  "/v1/decisions",
  "/v1/decisions/0-ab",
  "/v1/changes",
  "/v1/routes",
  "/v1/decisions/0-ab/replay",
  "/v1/events",
  "/v1/calendars",
  "/v1/backtest",
  "/v1/explain",
  "/v1/incidents",
  "/v1/measured",
  "/v1/course",
  "/v1/patterns",
  "/v1/forecast",
  "/v1/sensitivities",
  "/healthz",
  "/readyz",
  "/nowhere",
];
const AGENT_ROUTES: readonly string[] = ["/metrics", "/v1/snapshot", "/healthz", "/readyz", "/nowhere"];
/** Parameters that some route reads. */
const PARAMETERS = {
  ...PLAIN_PARAMETERS,
  service: "geo",
  at: "1750000000000",
  from: "1750000000000",
  to: "1750000060000",
  since: "1750000000000",
  before: "1750000000000",
  most: "10",
};

/** Every route and call of the three processes. @param clients closed by the caller */
export function doorsOf({ agent, predictor, scaler }: Stage, clients: Client[]): Target<never>[] {
  const at = (each: RealProcess, role = "http"): string => each.addresses[role] ?? "";
  const both = [scaler, predictor];
  const gets = (name: string, processes: readonly RealProcess[], routes: readonly string[]): HttpDoor[] =>
    routes.map((path) => ({
      name: `${name} GET ${path}`,
      url: `${at(processes[0] as RealProcess)}${path}`,
      processes,
      seed: { query: PARAMETERS },
    }));
  const post = (name: string, url: string, processes: readonly RealProcess[], body: unknown): HttpDoor => ({
    name: `${name} POST ${new URL(url).pathname}`,
    url,
    processes,
    seed: { method: "POST", query: {}, body },
  });
  const otlp = `${at(predictor, "otlp")}/v1/traces`;
  const metrics = `${at(predictor, "otlp")}/v1/metrics`;
  const zipkin = `${at(predictor, "otlp")}/api/v2/spans`;
  const http: HttpDoor[] = [
    post("predictor", `${at(predictor)}/v1/what-if`, [predictor], WHAT_IF),
    post("predictor", `${at(predictor)}/v1/proposals`, [predictor], PROPOSALS),
    post("predictor", `${at(predictor)}/v1/labels`, [predictor], LABEL),
    { ...post("otlp json", otlp, [predictor], jsonRequest(SPANS)), name: "otlp JSON" },
    {
      ...post("otlp metrics json", metrics, [predictor], metricsJson(METRICS, RESOURCE)),
      name: "otlp metrics JSON",
    },
    {
      ...post("otlp metrics", metrics, [predictor], METRICS),
      name: "otlp metrics protobuf",
      seed: { method: "POST", query: {}, body: METRICS, contentType: "application/x-protobuf" },
      write: (value) => metricsProtobuf(value as typeof METRICS, RESOURCE),
    },
    { ...post("otlp logs", `${at(predictor, "otlp")}/v1/logs`, [predictor], {}), name: "otlp logs" },
    { ...post("zipkin json", zipkin, [predictor], ZIPKIN_SPANS), name: "zipkin JSON" },
    {
      ...post("zipkin", zipkin, [predictor], ZIPKIN_SPANS),
      name: "zipkin protobuf",
      seed: { method: "POST", query: {}, body: ZIPKIN_SPANS, contentType: "application/x-protobuf" },
      write: (value) => zipkinProtobuf(value as typeof ZIPKIN_SPANS),
    },
    {
      ...post("otlp", otlp, [predictor], SPANS_WRITTEN),
      name: "otlp protobuf",
      seed: { method: "POST", query: {}, body: SPANS_WRITTEN, contentType: "application/x-protobuf" },
      write: writeSpans,
    },
    post("scaler", `${at(scaler)}/v1/what-if`, both, WHAT_IF),
    post("scaler", `${at(scaler)}/v1/changes/0123456789`, [scaler], { verdict: "approve", by: "ann" }),
    ...gets("predictor", [predictor], PREDICTOR_ROUTES),
    ...gets("scaler", both, SCALER_ROUTES),
    ...gets("agent", [agent], AGENT_ROUTES),
  ];
  const keda = (rpc: string, write: (value: unknown) => Uint8Array): GrpcDoor => ({
    name: `keda ${rpc}`,
    address: at(scaler, "grpc"),
    path: `/externalscaler.ExternalScaler/${rpc}`,
    processes: [scaler],
    seed: REF,
    write,
  });
  const grpc: GrpcDoor[] = [
    keda("GetMetrics", (value) => encodeMetricsRequest(value as Ref, "recommended-replicas")),
    keda("GetMetricSpec", (value) => encodeRef(value as Ref)),
    keda("IsActive", (value) => encodeRef(value as Ref)),
    {
      name: "otlp gRPC",
      address: at(predictor, "grpc"),
      processes: [predictor],
      seed: SPANS_WRITTEN,
      path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
      write: writeSpans,
    },
  ];
  return [...http.map(httpTarget), ...grpc.map((door) => grpcTarget(door, clients))] as Target<never>[];
}
