import { gzipSync } from "node:zlib";
import { frame, headerBlock, messageOf, PREFACE } from "../../../bench/scaler/caller.ts";
import type { Rng } from "@tradewind/core/values/rng.ts";
import { encodeMetricsRequest } from "../../exporter/serve/keda/wire.ts";
import { aSpan, jsonRequest, protobufRequest } from "../../predictor/sources/otlp/messages.ts";
import { ByteMutator, randomBytes } from "../engine/bytes.ts";
import { below, fewTimes, oneIn, pick } from "../engine/draw.ts";
import { expect } from "../engine/oracle.ts";
import type { Target } from "../engine/target.ts";
import { exchange, PortsStage, portOf } from "./ports-stage.ts";

const LANES = 6;
const PROBE_EVERY = 48;

/** One set of processes for all ports, for as long as any of them is open. */
let shared: Promise<PortsStage> | undefined;
let users = 0;

function port(
  name: string,
  address: (stage: PortsStage) => number,
  mutator: { make(rng: Rng): Uint8Array },
  judge: (answer: Buffer) => void = () => undefined,
): Target {
  let stage: PortsStage | undefined;
  return {
    name: `port/${name}`,
    kind: "port",
    lanes: LANES,
    probeEvery: PROBE_EVERY,
    make: (rng) => mutator.make(rng),
    open: async () => {
      users += 1;
      stage = await (shared ??= PortsStage.start());
    },
    run: async (input) => {
      if (stage !== undefined) judge(await exchange(address(stage), input as Uint8Array));
    },
    probe: async () => stage?.probe(),
    close: async () => {
      users -= 1;
      if (users > 0) return;
      const last = await shared;
      shared = undefined;
      await last?.stop();
    },
  };
}

const HTTP_WORDS = [
  "\r\n",
  "\r\n\r\n",
  "\n",
  "GET ",
  "HEAD ",
  "POST ",
  "OPTIONS * HTTP/1.1\r\n",
  "CONNECT a:1 HTTP/1.1\r\n",
  "HTTP/1.1",
  "HTTP/1.0",
  "HTTP/2.0",
  "Content-Length: 0\r\n",
  "Content-Length: 99999999999999999999\r\n",
  "Content-Length: -1\r\n",
  "Transfer-Encoding: chunked\r\n",
  "Transfer-Encoding: gzip, chunked\r\n",
  "ffffffffffffffff\r\n",
  "0\r\n\r\n",
  "Expect: 100-continue\r\n",
  "Connection: Upgrade\r\nUpgrade: h2c\r\n",
  "Accept-Encoding: gzip\r\n",
  "Content-Encoding: gzip\r\n",
  "Host: \r\n",
  `X-Long: ${"a".repeat(20_000)}\r\n`,
  "If-None-Match: *\r\n",
  "%00",
  "%",
  "/../",
  "?namespace=a&service=b&service=c",
  "__proto__",
  "\u0000",
];

const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
const post = (type: string, body: Uint8Array, more = ""): Buffer =>
  Buffer.concat([
    Buffer.from(
      `POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n${more}\r\n`,
    ),
    body,
  ]);

/** Whatever is asked, the answer is HTTP and not a failure of ours. */
function expectHttp(answer: Buffer): void {
  if (answer.length === 0) return;
  const [, status] = /^HTTP\/1\.1 (\d{3}) /.exec(answer.toString("latin1", 0, 32)) ?? [];
  const isOurs =
    status !== undefined &&
    (Number(status) < 500 || status === "503" || status === "501" || status === "505");
  expect(isOurs, "answer", () => `answered ${JSON.stringify(answer.toString("latin1", 0, 200))}`);
}

const SPANS = [aSpan({ startMs: 1, endMs: 2 })];
const OTLP = [
  post("application/x-protobuf", protobufRequest(SPANS)),
  post("application/json", Buffer.from(JSON.stringify(jsonRequest(SPANS)))),
  post("application/x-protobuf", gzipSync(protobufRequest(SPANS)), "Content-Encoding: gzip\r\n"),
  Buffer.from(
    "POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
  ),
];

const DATA = 0;
const HEADERS = 1;
const SETTINGS = 4;
const END_STREAM = 1;
const END_HEADERS = 4;

/** A frame before it is written. */
interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Draws HTTP/2 sessions of gRPC calls: frames left out, repeated, changed or out of order, and bytes changed. */
class SessionMutator {
  private readonly calls: readonly (readonly Frame[])[];
  private readonly raw: ByteMutator;

  constructor(calls: readonly { readonly path: string; readonly message: Uint8Array }[]) {
    this.calls = calls.map(({ message, path }, index) => callFrames(1 + 2 * index, path, message));
    this.raw = new ByteMutator([this.write(this.calls.flat())], [PREFACE, frame(SETTINGS, 0, 0)]);
  }

  make(rng: Rng): Uint8Array {
    if (oneIn(rng, 4)) return this.raw.make(rng);
    let frames: readonly Frame[] = this.calls.filter(() => rng() < 0.7).flat();
    for (let left = fewTimes(rng, 8); left > 0; left -= 1) frames = this.change(rng, frames);
    const bytes = this.write(frames);
    return oneIn(rng, 6) ? this.raw.mutate(rng, bytes) : bytes;
  }

  private change(rng: Rng, frames: readonly Frame[]): readonly Frame[] {
    const at = below(rng, frames.length + 1);
    const one = frames[at];
    if (one === undefined || oneIn(rng, 4)) return frames.toSpliced(at, 0, anyFrame(rng));
    switch (below(rng, 7)) {
      case 0:
        return frames.toSpliced(at, 1);
      case 1:
        return frames.toSpliced(at, 0, ...Array.from({ length: oneIn(rng, 50) ? 300 : 2 }, () => one));
      case 2:
        return frames.with(at, { ...one, type: below(rng, 16) });
      case 3:
        return frames.with(at, { ...one, flags: below(rng, 256) });
      case 4:
        return frames.with(at, { ...one, stream: pick(rng, [0, 1, 2, 3, 2 ** 31 - 1, 2 ** 32 - 1]) });
      case 5:
        return frames.with(at, { ...one, payload: Buffer.from(this.raw.mutate(rng, one.payload)) });
      default:
        return frames.toReversed();
    }
  }

  private write(frames: readonly Frame[]): Buffer {
    const all = frames.map(({ flags, payload, stream, type }) => frame(type, flags, stream, payload));
    return Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), ...all]);
  }
}

function anyFrame(rng: Rng): Frame {
  const payload = randomBytes(rng, pick(rng, [0, 1, 4, 5, 6, 8, 40]));
  return { type: below(rng, 12), flags: below(rng, 256), stream: pick(rng, [0, 1, 3, 4]), payload };
}

function callFrames(stream: number, path: string, message: Uint8Array): Frame[] {
  return [
    { type: HEADERS, flags: END_HEADERS, stream, payload: headerBlock("127.0.0.1", path) },
    { type: DATA, flags: END_STREAM, stream, payload: messageOf(message) },
  ];
}

const SCALER = "/externalscaler.ExternalScaler/";
const ASK = encodeMetricsRequest({ name: "so", namespace: "shop", metadata: { service: "search" } }, "m");
const KEDA = new SessionMutator([
  { path: `${SCALER}GetMetrics`, message: ASK },
  { path: `${SCALER}GetMetricSpec`, message: new Uint8Array(0) },
  { path: `${SCALER}StreamIsActive`, message: ASK.subarray(2) },
  { path: "/nobody/Home", message: ASK },
]);
const EXPORT = new SessionMutator([
  {
    path: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    message: protobufRequest(SPANS),
  },
]);

const pages = (...paths: readonly string[]): ByteMutator =>
  new ByteMutator(
    paths.map((path) => get(path, "Accept: application/openmetrics-text\r\n")),
    HTTP_WORDS,
  );

export const PORT_TARGETS: readonly Target[] = [
  port(
    "agent-http",
    ({ agent }) => portOf(agent, "http"),
    pages("/metrics", "/v1/snapshot", "/healthz", "/readyz", "/"),
    expectHttp,
  ),
  port(
    "exporter-http",
    ({ exporter }) => portOf(exporter, "http"),
    pages(
      "/",
      "/metrics",
      "/v1/recommendations",
      "/v1/decisions/0-ab",
      "/v1/decisions?namespace=shop&service=search",
      "/readyz",
    ),
    expectHttp,
  ),
  port("keda-grpc", ({ exporter }) => portOf(exporter, "grpc"), KEDA),
  port("otlp-grpc", ({ predictor }) => portOf(predictor, "grpc"), EXPORT),
  port(
    "otlp-http",
    ({ predictor }) => portOf(predictor, "otlp"),
    new ByteMutator(OTLP, HTTP_WORDS),
    expectHttp,
  ),
  port(
    "predictor-http",
    ({ predictor }) => portOf(predictor, "http"),
    pages(
      "/v1/plan",
      "/v1/plan/header",
      "/v1/windows",
      "/v1/sensitivities",
      "/v1/inputs",
      "/v1/inputs/0123456789abcdef",
      "/metrics",
      "/readyz",
    ),
    expectHttp,
  ),
];
