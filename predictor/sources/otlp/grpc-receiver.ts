import { createSecureServer, createServer } from "node:http2";
import type {
  Http2SecureServer,
  Http2Server,
  IncomingHttpHeaders,
  ServerHttp2Session,
  ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { senderOf } from "@tradewind/core/net/access-tokens.ts";
import type { Caller } from "@tradewind/core/net/access-tokens.ts";
import { systemClock } from "@tradewind/core/process/clock.ts";
import { Connections, senderAddress } from "@tradewind/core/net/connection-limits.ts";
import { withinDescriptors } from "@tradewind/core/net/descriptors.ts";
import { TradewindError } from "@tradewind/core/values/errors.ts";
import { Admission } from "./admission.ts";
import type { Call } from "./admission.ts";
import { readBody, refuseTooLarge } from "./body.ts";
import { ACCEPTED, compressionOf } from "./compression.ts";
import type { Compression } from "./compression.ts";
import { Intakes } from "./intakes.ts";
import type { Signal } from "./intakes.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import type { ReceiverLimits } from "./limits.ts";
import { formatListen, parseListen } from "./listen-address.ts";
import type { OtlpReceiverOptions } from "./receiver-options.ts";
import type { OtlpReceiver } from "./receiver.ts";
import { Refusal, failed, malformed, requireToken } from "./refusal.ts";
import { PROTOBUF, RPC_CODE, exportResponse, retryDetails } from "./responses.ts";

const EXPORT_PATHS = new Map<string, Signal>([
  ["/opentelemetry.proto.collector.trace.v1.TraceService/Export", "traces"],
  ["/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "metrics"],
  ["/opentelemetry.proto.collector.logs.v1.LogsService/Export", "logs"],
]);
const MAX_HEADER_BYTES = 16 * 1024;
const IDLE_MS = 300_000;
const STOP_GRACE_MS = 1_000;
/** Before a message: one byte that says whether it is compressed, four for its length. */
const PREFIX_BYTES = 5;
const ANSWER_HEADERS = {
  ":status": 200,
  "content-type": "application/grpc",
  "grpc-accept-encoding": ACCEPTED,
};

/**
 * Starts OTLP/gRPC: the unary call `Export` of traces, metrics and logs. It stands on HTTP/2 itself rather than on a gRPC library, which
 * takes a message before anyone can see who sends it and how far it has come.
 * @throws TradewindError `cannot-listen` when the address cannot be had
 */
export async function startOtlpGrpcReceiver(options: OtlpReceiverOptions): Promise<OtlpReceiver> {
  const limits: ReceiverLimits = { ...DEFAULT_RECEIVER_LIMITS, ...options.limits };
  const server = http2Server(limits, options);
  const { firstRequestMs, maxConnections, maxSenderConnections } = limits;
  const maxPerAddress = Math.min(maxConnections, maxSenderConnections);
  const connections = new Connections(withinDescriptors({ maxConnections, maxPerAddress, firstRequestMs }));
  options.metrics?.connections("grpc", () => connections.counts);
  server.on("connection", (socket: Socket) => connections.admit(socket));
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.setTimeout(IDLE_MS, () => session.close());
  });
  answerCalls(server, connections, limits, options);
  const { host } = parseListen(options.listen);
  const port = await bind(server, options.listen);
  return {
    address: formatListen({ host, port }),
    stop: async () => stop(server, sessions, connections),
  };
}

function http2Server(limits: ReceiverLimits, { tls }: OtlpReceiverOptions): Http2Server | Http2SecureServer {
  const settings = {
    enablePush: false,
    maxConcurrentStreams: Math.min(limits.maxConnectionRequests, limits.maxConcurrentRequests),
    maxHeaderListSize: MAX_HEADER_BYTES,
  };
  if (tls === undefined) return createServer({ settings });
  const server = createSecureServer({ settings, ...tls.serverSettings });
  tls.onChange((context) => server.setSecureContext(context));
  return server;
}

async function bind(server: Http2Server | Http2SecureServer, listen: string): Promise<number> {
  const { host, port } = parseListen(listen);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) =>
      reject(new TradewindError("cannot-listen", `cannot listen for OTLP/gRPC on ${listen}`, { cause })),
    );
    server.listen({ host, port }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/** Calls in progress get a moment to end. */
async function stop(
  server: Http2Server | Http2SecureServer,
  sessions: ReadonlySet<ServerHttp2Session>,
  connections: Connections,
): Promise<void> {
  await new Promise<void>((resolve) => {
    const force = setTimeout(() => connections.destroyAll(), STOP_GRACE_MS);
    server.close(() => {
      clearTimeout(force);
      connections.destroyAll();
      resolve();
    });
    for (const session of sessions) session.close();
  });
}

function answerCalls(
  server: Http2Server | Http2SecureServer,
  connections: Connections,
  limits: ReceiverLimits,
  options: OtlpReceiverOptions,
): void {
  const { clock = systemClock, onError, metrics } = options;
  const admission = new Admission(limits, clock);
  const intakes = new Intakes(options, "grpc", limits, admission);
  const exporting = async (
    signal: Signal,
    { namespaces }: Caller,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    call: Call,
  ): Promise<Uint8Array> => {
    const message = await readMessage(stream, headers, call, limits);
    const body = { ...message, maxBytes: limits.maxMessageBytes, form: PROTOBUF, namespaces } as const;
    const told = await intakes.take(signal, body, call);
    return exportResponse(PROTOBUF, told.rejected, told.message);
  };
  server.on("stream", (stream, headers) => {
    const { remoteAddress, remotePort } = stream.session?.socket ?? {};
    const answer = new Answer(stream, (code) => metrics?.request("grpc", String(code)));
    stream.once("close", connections.begin({ remoteAddress, remotePort }));
    let call: Call | undefined;
    const work = async (): Promise<void> => {
      try {
        const signal = calledSignal(headers);
        const caller = requireToken(options.tokens, headers.authorization);
        call = admission.admit(senderOf(caller, senderAddress(remoteAddress)));
        answer.send(await exporting(signal, caller, stream, headers, call));
      } catch (error) {
        const refusal = error instanceof Refusal ? error : failed(error);
        if (refusal.reason === "failed") onError?.(refusal.cause);
        if (answer.refuse(refusal)) metrics?.refused("grpc", refusal.reason);
      } finally {
        call?.end();
      }
    };
    void work();
  });
}

/** @throws Refusal UNIMPLEMENTED */
function calledSignal(headers: IncomingHttpHeaders): Signal {
  const isGrpc = /^application\/grpc($|\+proto|;)/.test(headers["content-type"] ?? "");
  const signal = EXPORT_PATHS.get(headers[":path"] ?? "");
  if (isGrpc && headers[":method"] === "POST" && signal !== undefined) return signal;
  throw unimplemented(`only ${[...EXPORT_PATHS.keys()].join(", ")} are served here`);
}

const unimplemented = (message: string): Refusal =>
  new Refusal({ statusCode: 404, rpcCode: RPC_CODE.unimplemented, reason: "unsupported" }, message);

/** The one message of a call, as it was sent. @throws Refusal */
async function readMessage(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  call: Call,
  limits: ReceiverLimits,
): Promise<{ readonly bytes: Uint8Array; readonly compression: Compression }> {
  const maxBytes = limits.maxMessageBytes;
  const body = await readBody(stream, call, maxBytes + PREFIX_BYTES, limits);
  if (body.length < PREFIX_BYTES) throw malformed("the call holds no message");
  const length = body.readUInt32BE(1);
  refuseTooLarge(length, maxBytes);
  if (body.length !== PREFIX_BYTES + length) throw malformed("the call holds more or less than one message");
  const compression = body[0] === 1 ? compressionOf(String(headers["grpc-encoding"] ?? "")) : "none";
  return { bytes: body.subarray(PREFIX_BYTES), compression };
}

/** Answers one call, once. */
class Answer {
  private readonly stream: ServerHttp2Stream;
  private readonly onEnd: (code: number) => void;
  private isOver = false;

  /** @param onEnd hears the status of the call: `CANCELLED` when its sender left */
  constructor(stream: ServerHttp2Stream, onEnd: (code: number) => void) {
    this.stream = stream;
    this.onEnd = onEnd;
    stream.on("error", () => undefined);
    stream.once("close", () => this.end(RPC_CODE.cancelled));
  }

  send(message: Uint8Array): void {
    if (!this.end(RPC_CODE.ok)) return;
    const { stream } = this;
    const frame = Buffer.alloc(PREFIX_BYTES + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, PREFIX_BYTES);
    stream.respond(ANSWER_HEADERS, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": String(RPC_CODE.ok) }));
    stream.end(frame);
  }

  /** @returns whether the sender was still there to hear it */
  refuse({ message, retryAfterSeconds, rpcCode }: Refusal): boolean {
    if (!this.end(rpcCode)) return false;
    const details =
      retryAfterSeconds === undefined
        ? {}
        : { "grpc-status-details-bin": retryDetails(rpcCode, message, retryAfterSeconds) };
    this.stream.respond(
      {
        ...ANSWER_HEADERS,
        "grpc-status": String(rpcCode),
        "grpc-message": percentEncoded(message),
        ...details,
      },
      { endStream: true },
    );
    // What is left of the message is not waited for.
    this.stream.close();
    return true;
  }

  private end(code: number): boolean {
    if (this.isOver) return false;
    this.isOver = true;
    const hasLeft = this.stream.destroyed || this.stream.closed;
    this.onEnd(hasLeft ? RPC_CODE.cancelled : code);
    return !hasLeft;
  }
}

/** As gRPC sends text in a header: printable ASCII but the percent sign stands for itself. */
const percentEncoded = (text: string): string =>
  text.toWellFormed().replace(/[^ -$&-~]/gu, (character) => encodeURIComponent(character));
