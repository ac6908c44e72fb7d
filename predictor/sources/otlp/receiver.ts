import { fastify } from "fastify";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { systemClock } from "@tradewind/core/clock.ts";
import type { Clock } from "@tradewind/core/clock.ts";
import { TradewindError } from "@tradewind/core/errors.ts";
import { forwardedMark, INSTANCE_HEADER } from "../peers/headers.ts";
import type { BatchExchange } from "../peers/headers.ts";
import { ByteBudget, readBody } from "./body.ts";
import { DEFAULT_RECEIVER_LIMITS } from "./limits.ts";
import type { ReceiverLimits } from "./limits.ts";
import { formatListen, parseListen } from "./listen-address.ts";
import type { ReceiverMetrics } from "./metrics.ts";
import { Refusal, overloaded } from "./refusal.ts";
import { JSON_TYPE, PROTOBUF, RPC_CODE, exportResponse, rejectionMessage, statusBody } from "./responses.ts";
import type { OtlpEncoding } from "./responses.ts";
import { SpanIntake } from "./span-intake.ts";
import type { OnSpans } from "./span-intake.ts";

export interface OtlpReceiverOptions {
  /** `host:port`; port 0 takes a free one. */
  readonly listen: string;
  readonly onSpans: OnSpans;
  readonly limits?: Partial<ReceiverLimits> | undefined;
  readonly metrics?: ReceiverMetrics | undefined;
  /** Told of errors that are not the sender's. */
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  /** Where several predictors share what each receives. */
  readonly exchange?: BatchExchange | undefined;
}

export interface OtlpReceiver {
  /** `http://host:port` for HTTP, `host:port` for gRPC. */
  readonly address: string;
  stop(): Promise<void>;
}

const TRACES_PATH = "/v1/traces";
const MAX_HEADER_BYTES = 16 * 1024;

/** Starts OTLP/HTTP: `POST /v1/traces`. @throws TradewindError `cannot-listen` when the address cannot be had */
export async function startOtlpReceiver(options: OtlpReceiverOptions): Promise<OtlpReceiver> {
  const limits: ReceiverLimits = { ...DEFAULT_RECEIVER_LIMITS, ...options.limits };
  const server = httpServer(limits);
  limitConcurrency(server, limits, options.metrics);
  answerErrors(server, limits, options);
  receiveTraces(server, limits, options);
  const { host, port } = parseListen(options.listen);
  try {
    await server.listen({ host, port });
  } catch (error) {
    throw new TradewindError("cannot-listen", `cannot listen for OTLP/HTTP on ${options.listen}`, {
      cause: error,
    });
  }
  const bound = server.server.address();
  const actualPort = typeof bound === "object" && bound !== null ? bound.port : port;
  return {
    address: `http://${formatListen({ host, port: actualPort })}`,
    stop: async () => {
      await server.close();
    },
  };
}

function httpServer(limits: ReceiverLimits): FastifyInstance {
  const server = fastify({
    logger: false,
    forceCloseConnections: true,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: limits.requestTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, limits.requestTimeoutMs),
    },
  });
  server.server.requestTimeout = limits.requestTimeoutMs;
  server.server.maxConnections = limits.maxConnections;
  return server;
}

function limitConcurrency(
  server: FastifyInstance,
  limits: ReceiverLimits,
  metrics: ReceiverMetrics | undefined,
): void {
  let active = 0;
  server.addHook("onRequest", async (_request, reply) => {
    active += 1;
    reply.raw.once("close", () => {
      active -= 1;
      metrics?.request("http", String(reply.raw.statusCode));
    });
    if (active > limits.maxConcurrentRequests) throw overloaded();
  });
}

function answerErrors(server: FastifyInstance, limits: ReceiverLimits, options: OtlpReceiverOptions): void {
  server.setErrorHandler(async (error, request, reply) => {
    const refusal = asRefusal(error);
    if (refusal.statusCode >= 500 && refusal.rpcCode === RPC_CODE.internal) options.onError?.(error);
    if (refusal.statusCode === 503) reply.header("retry-after", String(limits.retryAfterSeconds));
    return answer(request, reply, refusal.statusCode, (encoding) =>
      statusBody(encoding, refusal.rpcCode, refusal.message),
    );
  });
  server.setNotFoundHandler(async (request, reply) =>
    answer(request, reply, 404, (encoding) =>
      statusBody(encoding, RPC_CODE.notFound, `traces are received by POST ${TRACES_PATH}`),
    ),
  );
}

function receiveTraces(server: FastifyInstance, limits: ReceiverLimits, options: OtlpReceiverOptions): void {
  const intake = new SpanIntake(options.clock ?? systemClock, options.onSpans);
  const budget = new ByteBudget(limits.maxBufferedBytes);
  server.removeAllContentTypeParsers();
  server.addContentTypeParser([PROTOBUF, JSON_TYPE], async (request: FastifyRequest) =>
    readBody(request.raw, limits, budget),
  );
  server.post(TRACES_PATH, async (request, reply) => {
    if (!(request.body instanceof Uint8Array)) throw unsupportedType();
    const { exchange } = options;
    const mark = exchange && forwardedMark(request.headers);
    const batch = { body: request.body, contentType: encodingOf(request) };
    if (exchange !== undefined && mark !== undefined) reply.header(INSTANCE_HEADER, exchange.instance);
    if (exchange?.received(batch, mark) === false) {
      return answer(request, reply, 200, (encoding) => exportResponse(encoding, 0, ""));
    }
    const { accepted, rejected, reasons } = intake.take(request.body, encodingOf(request));
    options.metrics?.bytes("http", request.body.length);
    options.metrics?.spans(accepted, rejected);
    if (mark === undefined) exchange?.forward(batch);
    return answer(request, reply, 200, (encoding) =>
      exportResponse(encoding, rejected, rejectionMessage(reasons)),
    );
  });
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  statusCode: number,
  body: (encoding: OtlpEncoding) => Uint8Array | string,
): Promise<FastifyReply> {
  const encoding = encodingOf(request);
  return reply.code(statusCode).header("content-type", encoding).send(body(encoding));
}

/** The encoding of the request, which is also the answer's; JSON when the sender named neither. */
function encodingOf(request: FastifyRequest): OtlpEncoding {
  const type = request.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return type === PROTOBUF ? PROTOBUF : JSON_TYPE;
}

const unsupportedType = (): Refusal =>
  new Refusal(415, RPC_CODE.invalidArgument, `send ${PROTOBUF} or ${JSON_TYPE}`);

/** Errors of the HTTP library keep their status when they are the sender's; anything else is ours. */
function asRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { statusCode } = error as { statusCode?: unknown };
  if (statusCode === 415) return unsupportedType();
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    return new Refusal(statusCode, RPC_CODE.invalidArgument, (error as Error).message);
  }
  return new Refusal(500, RPC_CODE.internal, "the receiver failed; see its log");
}
